import { openStore } from '/work/main/store/store.ts';
import { requestRow, attemptRow, pinRow } from './store/samples.ts';
import { hash } from 'node:crypto';
const N = 60_000;
for (const what of ['requests', 'attempts', 'pins random', 'pins short', 'pins sequential'] as const) {
  const store = await openStore('sqlite:/tmp/cost2.db', { clock: () => Date.now(), queueRows: 1e6 });
  for (let r = 0; r < 2; r++) {
    const t = process.cpuUsage();
    const base = r * N;
    for (let i = 0; i < N; i++) {
      const id = `req_${(1e12 + base + i).toString(16)}abcdefabcdefabcdef`;
      if (what === 'requests') store.requests.append(requestRow({ id, at: base + i }));
      else if (what === 'attempts') store.attempts.append(attemptRow({ request_id: id, at: base + i }));
      else if (what === 'pins random') store.pins.put(pinRow({ hash: hash('sha256', id, 'base64url'), expires_at: base + i }));
      else if (what === 'pins short') store.pins.put(pinRow({ hash: hash('sha256', id, 'base64url').slice(0, 22), expires_at: base + i }));
      else store.pins.put(pinRow({ hash: id + hash('sha256', id, 'base64url').slice(0, 22), expires_at: base + i }));
      if (i % 200 === 199) await new Promise(setImmediate);
    }
    await store.flush(60000);
    const u = process.cpuUsage(t);
    console.log(what, r, ((u.user) / N).toFixed(2), 'user', ((u.system) / N).toFixed(2), 'system us');
  }
  await store.close();
  const { rm } = await import('node:fs/promises');
  for (const s of ['', '-wal', '-shm']) await rm('/tmp/cost2.db' + s, { force: true });
}
