// `account add` and `account import` write accounts into the file and into a Pool, and the accounts then take turns.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { poolgate, type Ran } from '../../cli/run.ts';
import { bearerOf } from '../../support/gateway.ts';
import { type Program, startProgram } from '../../support/program/program.ts';
import { until } from '../../support/until.ts';

const token = (claims: object): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`;

suite('account add and import', () => {
  let program: Program;

  before(async () => {
    program = await startProgram({
      here: true,
      // As in the file of a first start, to which a real account is added.
      config: (draft) => {
        draft.accounts.push({ id: 'simulated', base_url: 'rehearsal:' });
      },
      upstream: {
        accounts: [
          ...['north', 'south', 'east'].map((id) => ({ id, credential: bearerOf(id) })),
          ...['one', 'two'].map((id) => ({ id, oauth: { refresh_token: `rt-of-${id}`, client_id: 'c' } })),
        ],
      },
      place: (folder, text) => {
        const path = join(folder, 'config.yaml');
        writeFileSync(path, `# The first line.\n${text.replace(/^pools:$/m, 'pools: # the Pools')}`);
        return path;
      },
    });
  });
  after(() => program[Symbol.asyncDispose]());

  const command = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> =>
    poolgate([...args, '--config', program.path], env);
  const written = (name: string, json: unknown): string => {
    const path = join(program.folder, name);
    writeFileSync(path, JSON.stringify(json));
    return path;
  };
  const addressed = (id: string): readonly string[] => {
    const url = program.upstream.urlOf(id);
    return ['--base-url', url, '--token-url', `${url}/oauth/token`, '--client-id', 'c'];
  };

  test('[S9] account add tries the address and the credential, and changes nothing where they fail', async () => {
    const text = readFileSync(program.path, 'utf8');
    const url = program.upstream.urlOf('east');
    writeFileSync(join(program.folder, 'east.key'), 'wrong\n');
    const refused = await command(['account', 'add', 'east', '--base-url', url, '--secret-file', 'east.key']);
    assert.equal(refused.code, 1);
    assert.match(
      refused.err,
      /^nothing changed: account 'east' does not work \(models: credential, 401\)\. Correct its secret, or the `headers`/,
    );
    assert.match(refused.err, /--no-check adds the account all the same\.\n$/);
    const without = await command(['account', 'add', 'east', '--api', 'responses', '--base-url', `${url}/backend-api/agent/v1`]);
    assert.match(
      without.err,
      /\(models: credential, 401\)\. It demands a secret: name its variable with --env, or its file with --secret-file\./,
    );
    const unwritten = await command(['account', 'add', 'east', '--base-url', url, '--secret-file', 'lost.key', '--no-check']);
    assert.match(unwritten.err, /^the file is unchanged; with this account it would be invalid:\n.*: there is no such file\n$/);
    const lost = await command(['account', 'add', 'east', '--base-url', 'http://127.0.0.1:9', '--secret-file', 'east.key']);
    assert.match(
      lost.err,
      /^nothing changed: account 'east' cannot be reached: http:\S+ \(east\) cannot be connected to \(ECONNREFUSED\)\./,
    );
    assert.equal(readFileSync(program.path, 'utf8'), text);
  });

  test('[S9] account add puts an account into the file with its comments and into its Pool, and it takes turns', async () => {
    writeFileSync(join(program.folder, 'east.key'), `${bearerOf('east')}\n`);
    const { code, out, err } = await command([
      'account',
      'add',
      'east',
      '--base-url',
      program.upstream.urlOf('east'),
      '--secret-file',
      'east.key',
    ]);
    assert.equal(code, 0, err);
    assert.match(
      out,
      /^account 'east' was added to \S+, for Pool 'team'\nok +credential: it can be read .*\nok +models: \d+ models \(model-a, /,
    );
    const text = readFileSync(program.path, 'utf8');
    assert.match(text, /^# The first line\.\n/);
    assert.match(text, /^pools: # the Pools$/m);
    await until('the account', async () => /^east +active /m.test((await command(['status'])).out) || undefined);
    const twice = await command(['account', 'add', 'east', '--simulated']);
    assert.deepEqual([twice.code, twice.err], [1, "account 'east' exists already\n"]);
  });

  test('[Q9] account import takes a login over once: its file stays as it is, and is refused a second time with the reason', async () => {
    const login = { tokens: { refresh_token: 'rt-of-one', id_token: token({ sub: 'anna', email: 'anna@mail.example' }) } };
    const file = written('auth.json', login);
    const first = await command(['account', 'import', file, ...addressed('one')]);
    assert.equal(first.code, 0, first.err);
    assert.match(first.out, /auth\.json: account 'anna' is logged in as 'anna'.*; the account was added to the file, for Pool 'team'\n$/);
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), login);
    await until('the account', async () => /^anna +active /m.test((await command(['status'])).out) || undefined);
    const second = await command(['account', 'import', file, ...addressed('one')]);
    assert.equal(second.code, 1);
    assert.match(
      second.err,
      /this login was taken over by account 'anna' at 2\S+Z: its refresh token rotates since, and the one in the file is spent\./,
    );
    const same = await command(['account', 'import', file, '--account', 'anna']);
    assert.match(same.out, /account 'anna' had this login already as 'anna'; nothing changed/);
    assert.ok(!readFileSync(program.path, 'utf8').includes('rt-of-one'));
  });

  test('[Q9] account import finds two logins of one user, and reads the shapes of several programs', async () => {
    const id = token({ sub: 'berta' });
    const files = [
      written('camel.json', { provider: { accessToken: 'at', refreshToken: 'rt-of-two', idToken: id, expiresAt: 1 } }),
      written('flat.json', { access_token: 'other', refresh_token: 'another', id_token: id }),
    ];
    const { code, out, err } = await command(['account', 'import', ...files, ...addressed('two')]);
    assert.equal(code, 1);
    assert.match(out, /^\S+camel\.json: account 'berta' is logged in as 'berta'/);
    assert.match(err, /^\S+flat\.json: it has the user 'berta' of \S+camel\.json; two accounts of one user share its quota/);
    const third = await command(['account', 'import', written('third.json', { refresh_token: 'rt-3', id_token: id }), '--like', 'anna']);
    assert.match(third.err, /account 'berta' has the login of 'berta' already/);
    const none = await command(['account', 'import', written('none.json', { access_token: 'only' }), '--like', 'anna']);
    assert.match(none.err, /none\.json: it has no login: no JSON object there has a refresh_token\n$/);
  });
});
