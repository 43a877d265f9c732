// `record`: relays a client to one of the operator's accounts, and writes the redacted conversation to a file.
import type { Command } from 'commander';
import { makeFolderOf, writeFaultOf } from '../../../store/folder.ts';
import type { Recording } from '../../recording/recording.ts';
import { addCommand, CommandFailure, collect, counted, type Io } from '../command.ts';

interface Options {
  readonly to: string;
  readonly out: string;
  readonly port: string;
  readonly keep?: readonly string[];
}

export function addRecord(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'record',
    description:
      'relay a client to an account, and write what both sent to a file without any text, id or secret: kinds and lengths only; Ctrl-C ends it',
    examples: [
      'poolgate record --to https://provider.example --out session.json',
      'poolgate record --to http://127.0.0.1:4000 --out sdk.json --port 4010 --keep new_member',
    ],
    config: false,
    json: false,
  })
    .requiredOption('--to <url>', 'base URL of the account, to which the paths of requests are appended')
    .requiredOption('--out <file>', 'the file; an existing one is replaced')
    .option('--port <number>', 'port of the relay on 127.0.0.1; 0 takes a free one', '4010')
    .option('--keep <name>', 'keep this member name, which is no protocol word; its value is still replaced (may be repeated)', collect)
    .action(async ({ to, out, port, keep = [] }: Options) => {
      const address = addressOf(to);
      if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new CommandFailure(`--port ${port} is no port`, { exitCode: 2 });
      // Loaded here, so that other commands start without the relay.
      const { Recording } = await import('../../recording/recording.ts');
      const { RecordingRelay } = await import('../../recording/relay.ts');
      const recording = new Recording({ path: out, keep });
      await firstWrite(recording, out);
      const relay = await RecordingRelay.start({ to: address, recording, port: Number(port) });
      io.out(`${relay.url} relays to ${address.origin} and records to ${out}; Ctrl-C ends it\n`);
      await interrupted();
      await relay.close();
      io.out(`${counted(recording.count, 'exchange')} in ${out}\n`);
    });
}

/** The address of the account. Plain http is permitted only on loopback, because requests carry the operator's credential. */
function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLocal = url?.hostname === 'localhost' || url?.hostname === '[::1]' || /^127\./.test(url?.hostname ?? '');
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLocal)) return url;
  throw new CommandFailure('--to needs an https address, or an http address of this machine', { exitCode: 2 });
}

/** Writes the empty recording, so that a file that cannot be written is reported before a client is relayed. @throws {CommandFailure} */
async function firstWrite(recording: Recording, path: string): Promise<void> {
  try {
    await makeFolderOf(path);
    await recording.write();
  } catch (thrown) {
    throw new CommandFailure(`${path} cannot be written: ${writeFaultOf(thrown)}`);
  }
}

const interrupted = (): Promise<void> =>
  new Promise((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve);
  });
