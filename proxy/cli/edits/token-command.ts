// `token`: creates, revokes and lists the operators' tokens for /mcp in the file.
import type { Command } from 'commander';
import { addCommand, type CommonOptions, collect, type Io, json, table } from '../command.ts';
import { listedOperators } from '../gateway/list-calls.ts';
import { orderEdit } from './ordered-edit.ts';
import { showSecret } from './shown-secret.ts';

interface CreateOptions extends CommonOptions {
  readonly owns?: readonly string[];
  readonly assigned?: readonly string[];
  readonly admin?: boolean;
}

export function addTokenCommands(program: Command, io: Io): void {
  const token = program.command('token').description("create, revoke and list operators' tokens for /mcp and the admin listener");

  addCommand(token, {
    usage: 'create <operator>',
    description: 'add a token, with its operator if that is new, and show the token once',
    examples: [
      'poolgate token create ops --owns team',
      'poolgate token create root --admin',
      'poolgate token create ops        (another token of a known operator)',
    ],
  })
    .option('--owns <pool>', 'a Pool that the new operator owns; repeat for several', collect)
    .option('--assigned <pool>', 'another Pool that it may see; repeat for several', collect)
    .option('--admin', 'at the admin listener the new operator sees and changes everything')
    .action(async (operator: string, { owns, assigned, admin, ...options }: CreateOptions) => {
      const { made } = await orderEdit({ do: 'token.create', operator, owns, assigned, admin }, options, io);
      const note = `a token of operator '${operator}' was added to ${options.config}`;
      showSecret(io, options, { id: operator, secret: made.secret, note });
    });

  addCommand(token, {
    usage: 'revoke <operator> <token>',
    description: 'remove a token, named by the first digits of its hash as in `token list`; with its last token the operator is removed',
    examples: ['poolgate token revoke ops 9f86d081'],
  }).action(async (operator: string, name: string, options: CommonOptions) => {
    await orderEdit({ do: 'token.revoke', operator, token: name }, options, io);
    io.out(options.json ? json({ operator, token: name }) : `token '${name}' of operator '${operator}' is revoked\n`);
  });

  addCommand(token, {
    usage: 'list',
    description: 'list the operators of the running gateway, else of the file',
    examples: ['poolgate token list'],
  }).action(async (options: CommonOptions) => {
    const rows = await listedOperators(options, io);
    if (options.json) return io.out(json(rows));
    return io.out(
      table(
        ['OPERATOR', 'TOKENS', 'OWNS', 'ASSIGNED', 'ADMIN'],
        rows.map((row) => [
          row.id,
          row.tokens.join(' '),
          row.owns.join(' ') || '-',
          row.assigned.join(' ') || '-',
          row.admin ? 'yes' : 'no',
        ]),
      ),
    );
  });
}
