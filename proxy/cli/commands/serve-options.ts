// `serve` with its options. With `--demo` it serves the shipped file with simulated accounts, and stores nothing.
import { rmSync } from 'node:fs';
import { access, copyFile, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { addCommand, CommandFailure, type CommonOptions } from '../command.ts';

interface Options extends CommonOptions {
  readonly demo?: boolean;
}

export function addServe(program: Command): void {
  addCommand(program, {
    usage: 'serve',
    description: 'run the gateway',
    examples: [
      'poolgate serve',
      'poolgate serve --config /etc/poolgate.yaml',
      'poolgate serve --demo        (simulated accounts, no file)',
    ],
    json: false,
  })
    .option('--demo', 'serve simulated accounts, without a file, and keep nothing')
    .action(async ({ config, demo = false }: Options, command: Command) => {
      if (demo && command.getOptionValueSource('config') === 'cli') {
        throw new CommandFailure('--demo serves simulated accounts without a file: leave out --demo or --config', { exitCode: 2 });
      }
      // Loaded here, so that other commands start without the gateway's modules.
      const { serve } = await import('./serve-command.ts');
      if (!demo) {
        await refuseMissing(config);
        return serve({ config });
      }
      return serve(await demonstration());
    });
}

/** Refuses a missing file with advice for newcomers. A file that cannot be read has an error of its own. */
async function refuseMissing(config: string): Promise<void> {
  const code = await access(config).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code,
  );
  if (code !== 'ENOENT') return;
  throw new CommandFailure(
    `there is no file ${config}: \`poolgate init\` writes one, and \`poolgate serve --demo\` serves simulated accounts without one`,
  );
}

/** The demonstration key in the shipped file, which no Pool with a real account accepts. */
const DEMO_KEY = 'pg-demo-key-for-the-rehearsal-only';

async function demonstration(): Promise<{ readonly config: string; readonly hint: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-demo-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const config = join(folder, 'config.yaml');
  await copyFile(fileURLToPath(new URL('../../../config.yaml', import.meta.url)), config);
  const hint = `Simulated accounts; nothing is kept after the end. A turn:

  curl http://127.0.0.1:4000/v1/responses -H 'Authorization: Bearer ${DEMO_KEY}' \\
    -H 'Content-Type: application/json' -d '{ "model": "model-a", "input": "Say hello." }'

Commands take its file: poolgate top --config ${config}
`;
  return { config, hint };
}
