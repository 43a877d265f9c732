// Tokens in the store are durable before they are used, encrypted, shared between processes, and replaced by a new login.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { ExclusiveWork } from '../../../proxy/nodes/exclusive-work.ts';
import { CredentialUnavailable } from '../../../proxy/upstream/account-credentials.ts';
import type { RefreshLock } from '../../../proxy/upstream/credentials/token-vault.ts';
import type { Store } from '../../../store/store.ts';
import { ACCESS, Bench, KEY, type Process, REFRESH } from './bench.ts';

/** A store of credentials that saves rows, except that of the import, only after `accept`. */
function slowDisk({ store: { credentials } }: Bench) {
  const accepted = Promise.withResolvers<void>();
  let saves = 0;
  const store: Store['credentials'] = {
    ...credentials,
    save: async (row) => {
      // The first save is that of the import.
      if (saves++ > 0) await accepted.promise;
      return credentials.save(row);
    },
  };
  const renewing = async (): Promise<void> => {
    while (saves < 2) await new Promise(setImmediate);
  };
  return { store, renewing, accept: accepted.resolve };
}

suite('rotated tokens', () => {
  test('are not used before they are on disk', async (context) => {
    const bench = await Bench.open(context);
    const disk = slowDisk(bench);
    const north = await bench.start({ store: disk.store });
    const renewal = north.unauthorized();
    await disk.renewing();
    assert.equal(await north.bearer(), ACCESS);
    disk.accept();
    assert.equal(await renewal, 'renewed');
    assert.notEqual(await north.bearer(), ACCESS);
  });

  test('that a full disk does not accept are not requested twice, and are used once it accepts them', async (context) => {
    const bench = await Bench.open(context);
    const disk = slowDisk(bench);
    const north = await bench.start({ store: disk.store });
    const first = north.unauthorized();
    await disk.renewing();
    await bench.clock.advance(15_000);
    assert.equal(await first, 'failed');
    const second = north.unauthorized();
    await bench.clock.advance(15_000);
    assert.equal(await second, 'failed');
    disk.accept();
    assert.equal(await north.unauthorized(), 'renewed');
    assert(await bench.admits(await north.bearer()));
    assert.equal(bench.refreshes, 1);
  });

  test('survive kill -9 between the disk and their first use', async (context) => {
    const bench = await Bench.open(context);
    const url = bench.upstream.urlOf('north');
    const child = spawn(process.execPath, [join(import.meta.dirname, 'killed.ts')], {
      env: { ...process.env, STORE: `sqlite:${bench.folder}/poolgate.db`, KEY, FILE: join(bench.folder, 'north.json'), URL: url },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const [, signal] = await once(child, 'exit');
    assert.equal(signal, 'SIGKILL');
    assert.equal(bench.refreshes, 1);
    const north = await bench.start();
    assert.notEqual(await north.bearer(), ACCESS);
    assert(await bench.admits(await north.bearer()));
    assert.equal(await north.unauthorized(), 'renewed', 'its refresh token is the new one');
    assert.deepEqual(north.imported, [], 'the file holds the login that was imported before');
  });

  test('are not replaced by the spent login of the file where the store could not be read at the start', async (context) => {
    const bench = await Bench.open(context);
    const first = await bench.start();
    await first.unauthorized();
    const { credentials } = bench.store;
    let reads = 0;
    const find: Store['credentials']['find'] = (account) =>
      reads++ === 0 ? Promise.reject(new Error('no answer')) : credentials.find(account);
    const second = await bench.start({ store: { ...credentials, find } });
    assert.ok(second.logged.join('').includes('credential_import_failed'), second.logged.join(''));
    await second.reload();
    assert.deepEqual(second.imported, []);
    assert.equal(await second.bearer(), await first.bearer());
    assert.ok(await bench.admits(await second.bearer()));
  });

  test('[S4] are in no log line, and on disk only encrypted', async (context) => {
    const bench = await Bench.open(context);
    const north = await bench.start();
    await north.unauthorized();
    const access = await north.bearer();
    bench.upstream.loginOf('north').revoke();
    await north.unauthorized();
    await bench.store.flush();
    const row = await bench.store.credentials.find('north');
    const files = await Promise.all(
      (await readdir(bench.folder)).filter((name) => name.startsWith('poolgate')).map((name) => readFile(join(bench.folder, name))),
    );
    const places = [north.logged.join(''), JSON.stringify(row), ...files.map((bytes) => bytes.toString('latin1'))];
    // Ciphertext may contain any three characters, so a refresh token is searched in its complete form.
    for (const secret of [access, ACCESS, REFRESH, KEY, /rt_\w+_\w/]) {
      const isIn = (place: string): boolean => (typeof secret === 'string' ? place.includes(secret) : secret.test(place));
      for (const place of places) assert(!isIn(place), `${secret} in ${place.slice(0, 40)}`);
    }
    assert(!north.logged.join('').includes('it-1'));
    const events = north.logged.map((line) => (JSON.parse(line) as { event: string }).event);
    assert.deepEqual(events, ['credential_imported', 'credential_refreshed', 'credential_refused']);
    assert.match(north.logged.at(-1) ?? '', /"message":"log in again, [^"]+: poolgate account relogin north"/);
  });
});

suite('of two processes on one store', () => {
  test('the second takes over what the first refreshed', async (context) => {
    const bench = await Bench.open(context);
    const [first, second] = [await bench.start(), await bench.start()];
    assert.equal(await first.unauthorized(), 'renewed');
    assert.equal(await second.unauthorized(), 'renewed');
    assert.equal(bench.refreshes, 1);
    assert.equal(await second.bearer(), await first.bearer());
  });

  test('[Q34] both refresh at the same time: the second waits for the lease and takes over the tokens', async (context) => {
    const bench = await Bench.open(context);
    const lock = (owner: string): RefreshLock => ({
      exclusive: new ExclusiveWork({ leases: bench.store.leases, clock: bench.clock, owner }),
      shared: false,
    });
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const real = bench.exchange();
    const first = await bench.start({
      lock: lock('first'),
      exchange: async (request) => {
        await answered;
        return real(request);
      },
    });
    const second = await bench.start({ lock: lock('second') });
    const renewals = [first.unauthorized()];
    while (await bench.store.leases.acquire('refresh/north', 'probe', 0)) await new Promise(setImmediate);
    renewals.push(second.unauthorized());
    answer();
    assert.equal(await renewals[0], 'renewed');
    await bench.clock.advance(1_000);
    assert.equal(await renewals[1], 'renewed');
    assert.equal(bench.refreshes, 1);
    assert.equal(await second.bearer(), await first.bearer());
  });

  test('[RB6] a refresh whose answer was lost reads the store before it is repeated, and takes over what another one stored', async (context) => {
    const bench = await Bench.open(context, { silence: 50 });
    const [first, second] = [await bench.start(), await bench.start()];
    bench.upstream.nextOn('north', '/oauth/token', 'stall before headers');
    assert.equal(await first.unauthorized(), 'failed');
    assert.equal(await second.unauthorized(), 'renewed');
    await bench.clock.advance(5_000);
    assert.equal(await first.unauthorized(), 'renewed');
    assert.equal(bench.refreshes, 2, 'the one whose answer was lost, and that of the second process');
    assert.equal(await first.bearer(), await second.bearer());
    assert(await bench.admits(await first.bearer()), 'the login was not ended by a reuse');
  });

  test('one that lost the race for the refresh token reads the store again instead of failing', async (context) => {
    const bench = await Bench.open(context);
    const first = await bench.start();
    const real = bench.exchange();
    const second = await bench.start({
      exchange: async (request) => {
        // The other process is faster by exactly this request.
        if (bench.refreshes === 0) await first.unauthorized();
        return real(request);
      },
    });
    assert.equal(await second.unauthorized(), 'renewed');
    assert.equal(bench.refreshes, 2);
    assert.equal(await second.bearer(), await first.bearer());
    assert.deepEqual(second.refused, []);
  });
});

suite('a new login in the file', () => {
  const login = { tokens: { access_token: 'at-anew', refresh_token: 'rt-anew' } };

  test('is imported at start and on reload, which clears the state', async (context) => {
    const bench = await Bench.open(context);
    const north = await bench.start();
    assert.deepEqual(north.imported, ['north']);
    await north.reload();
    assert.deepEqual(north.imported, ['north'], 'the same file says nothing new');
    bench.upstream.loginOf('north').revoke();
    assert.equal(await north.unauthorized(), 'refused');
    bench.upstream.loginOf('north').renew('rt-anew');
    await bench.write(login);
    assert.equal(await north.unauthorized(), 'renewed', 'before the state becomes reauth_required the file is looked at');
    assert.deepEqual([north.refused, north.imported], [['north'], ['north', 'north']]);
    assert.equal(await north.unauthorized('at-anew'), 'renewed');
    assert(await bench.admits(await north.bearer()));

    await bench.write({ tokens: { access_token: 'at-third', refresh_token: 'rt-third' } });
    await north.reload();
    assert.equal(await north.bearer(), 'at-third');
    const after = await bench.start();
    assert.equal(await after.bearer(), 'at-third');
    assert.deepEqual(after.imported, []);
  });

  test('is imported before an account whose new token was refused too has to log in again', async (context) => {
    const bench = await Bench.open(context);
    const north = await bench.start();
    assert.equal(await north.credentials.reimported(bench.account), false);
    await bench.write(login);
    assert.equal(await north.credentials.reimported(bench.account), true);
    assert.equal(await north.bearer(), 'at-anew');
    assert.equal(await north.credentials.reimported({ ...bench.account, id: 'south' }), false);
  });

  test('whose access token has ended is refreshed at once', async (context) => {
    const bench = await Bench.open(context);
    const north = await bench.start();
    bench.upstream.loginOf('north').renew('rt-anew');
    await bench.write({ refresh_token: 'rt-anew' });
    assert.equal(await north.unauthorized(), 'renewed');
    assert(await bench.admits(await north.bearer()));
    assert.deepEqual(north.refused, []);
  });

  test('that has no login, or is missing, changes nothing', async (context) => {
    const bench = await Bench.open(context);
    const north = await bench.start();
    for (const content of ['', '{"tokens":', '[]', '{}', '{"tokens":{"access_token":7}}']) {
      await bench.write(content);
      await north.reload();
      assert.equal(await north.bearer(), ACCESS);
    }
    assert.equal(await north.unauthorized(), 'renewed');
    const after = await bench.start();
    assert(await bench.admits(await after.bearer()), 'what was refreshed is in the store');
  });
});

suite('a stored login that another key sealed', () => {
  const sealed = { account: 'north', imported: 'by another key', sealed: 'v1.AAAA.BBBB', updated_at: 0 };

  async function locked(context: TestContext): Promise<{ readonly bench: Bench; readonly north: Process }> {
    const bench = await Bench.open(context);
    await bench.store.credentials.save(sealed);
    return { bench, north: await bench.start() };
  }

  test('stays as it is: the login in the file may be spent, and is not used', async (context) => {
    const { bench, north } = await locked(context);
    assert.deepEqual(north.withoutLogin, ['north']);
    assert.match(north.logged.join(''), /"error","event":"store_key_differs","account":"north","message":"store_key [^"]+ relogin north"/);
    await north.reload();
    assert.equal(await north.credentials.reimported(bench.account), false);
    await assert.rejects(north.bearer(), CredentialUnavailable);
    assert.deepEqual([north.imported, north.refused, bench.refreshes], [[], [], 0]);
    assert.equal((await bench.store.credentials.find('north'))?.sealed, sealed.sealed);
  });

  test('is replaced by another login in the file, after which the former one in the file changes nothing', async (context) => {
    const { bench, north } = await locked(context);
    await bench.write({ access_token: 'at-anew', refresh_token: 'rt-anew' });
    await north.reload();
    assert.equal(await north.bearer(), 'at-anew');
    await bench.write({ access_token: ACCESS, refresh_token: REFRESH });
    await north.reload();
    assert.equal(await north.bearer(), 'at-anew');
    assert.deepEqual(north.imported, ['north']);
  });

  test('is not replaced on command by a file that is older, and is by one that was written since', async (context) => {
    const bench = await Bench.open(context);
    const storedAt = Date.now() + 60_000;
    await bench.store.credentials.save({ ...sealed, updated_at: storedAt });
    const north = await bench.start();
    assert.equal(await north.credentials.relogin('north'), 'former');
    await assert.rejects(north.bearer(), CredentialUnavailable);
    assert.deepEqual([north.imported, bench.refreshes], [[], 0]);
    await utimes(join(bench.folder, 'north.json'), storedAt / 1000, storedAt / 1000 + 1);
    assert.equal(await north.credentials.relogin('north'), 'imported');
    assert.equal(await north.bearer(), ACCESS);
  });

  test('is replaced by the first login that the file has later, on command only', async (context) => {
    const bench = await Bench.open(context, { file: 'none yet' });
    await bench.store.credentials.save(sealed);
    const north = await bench.start();
    await bench.write({ access_token: ACCESS, refresh_token: REFRESH });
    await north.reload();
    assert.deepEqual(north.imported, []);
    assert.equal(await north.credentials.relogin('north'), 'imported');
    assert.equal(await north.bearer(), ACCESS);
  });
});
