// A recording relay for a test, in front of an account that the test runs.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Exchange, Fixture } from '../../proxy/recording/fixture.ts';
import { Recording } from '../../proxy/recording/recording.ts';
import { RecordingRelay } from '../../proxy/recording/relay.ts';

export interface Recorder {
  readonly url: string;
  /** Ends the recording. */
  readonly finish: () => Promise<{ readonly text: string; readonly exchanges: readonly Exchange[] }>;
}

export async function startRecorder(context: TestContext, to: string, keep: readonly string[] = []): Promise<Recorder> {
  const folder = mkdtempSync(join(tmpdir(), 'poolgate-recording-'));
  const path = join(folder, 'recording.json');
  const recording = new Recording({ path, keep });
  const relay = await RecordingRelay.start({ to: new URL(to), recording });
  context.after(async () => {
    await relay.close();
    rmSync(folder, { recursive: true });
  });
  return {
    url: relay.url,
    finish: async () => {
      await relay.close();
      await recording.write();
      const text = readFileSync(path, 'utf8');
      return { text, exchanges: (JSON.parse(text) as Fixture).exchanges };
    },
  };
}

/** Starts an account with answers of the test. */
export async function startAccount(
  context: TestContext,
  listener: RequestListener,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}
