// `token`: creates and lists the operators' tokens for /mcp in the file.
import type { Command } from 'commander';
import { rewriteConfig } from '../../config/file/file-replacement.ts';
import { addCommand, CommandFailure, type CommonOptions, collect, type Io, inspectValid, json, table } from '../command.ts';
import { makeSecret, showSecret } from '../new-secret.ts';

interface CreateOptions extends CommonOptions {
  readonly owns?: readonly string[];
  readonly assigned?: readonly string[];
  readonly admin?: boolean;
}

export function addTokenCommands(program: Command, io: Io): void {
  const token = program.command('token').description("create and list operators' tokens for /mcp and the admin listener");

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
      const { secret, sha256 } = makeSecret('pg-mcp-');
      await rewriteConfig(options.config, ({ config }) => {
        const index = config.operators.findIndex(({ id }) => id === operator);
        if (index < 0) {
          if (!owns && !assigned && !admin)
            throw new CommandFailure(`operator '${operator}' is new: name its Pools with --owns or --assigned`, { exitCode: 2 });
          return [
            {
              append: ['operators'],
              row: { id: operator, token_sha256: [sha256], ...(owns && { owns }), ...(assigned && { assigned }), ...(admin && { admin }) },
            },
          ];
        }
        if (owns || assigned || admin)
          throw new CommandFailure(`operator '${operator}' exists already: change its rights in the file`, { exitCode: 2 });
        return [{ append: ['operators', index, 'token_sha256'], row: sha256 }];
      });
      showSecret(io, options, { id: operator, secret, note: `a token of operator '${operator}' was added to ${options.config}` });
    });

  addCommand(token, { usage: 'list', description: 'list the operators of the file', examples: ['poolgate token list'] }).action(
    async ({ config: path, json: asJson }: CommonOptions) => {
      const rows = (await inspectValid(path, io)).operators.map(({ token_sha256, ...row }) => ({ ...row, tokens: token_sha256.length }));
      if (asJson) return io.out(json(rows));
      return io.out(
        table(
          ['OPERATOR', 'TOKENS', 'OWNS', 'ASSIGNED', 'ADMIN'],
          rows.map((row) => [
            row.id,
            String(row.tokens),
            row.owns.join(' ') || '-',
            row.assigned.join(' ') || '-',
            row.admin ? 'yes' : 'no',
          ]),
        ),
      );
    },
  );
}
