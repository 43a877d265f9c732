// `replay`: replays recordings through a gateway, and prints the differences from the direct conversation.
import type { Command } from 'commander';
import { addCommand, CommandFailure, counted, type Io, json } from '../command.ts';

interface Options {
  readonly json?: boolean;
  readonly all?: boolean;
}

export function addReplay(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'replay <recording...>',
    description:
      'play recordings through a gateway with a scripted account, and print what differs from the direct conversation; exit code 1 for a difference that no statement of the contract demands',
    examples: ['poolgate replay session.json', 'poolgate replay --all session.json'],
    config: false,
  })
    .option('--all', 'print the intended differences too, with the statement that demands each')
    .action(async (paths: readonly string[], { json: asJson, all = false }: Options) => {
      // Loaded here, so that other commands start without the gateway's modules.
      const { readFixture } = await import('../../recording/fixture.ts');
      const { replay } = await import('../../replay/replay.ts');
      let unexpected = 0;
      for (const path of paths) {
        const fixture = await readFixture(path).catch((thrown: unknown) => {
          throw new CommandFailure(thrown instanceof Error ? thrown.message : 'the recording cannot be read');
        });
        const report = await replay(fixture);
        const [others, intended] = [report.differences.filter(({ clause }) => !clause), report.differences.filter(({ clause }) => clause)];
        unexpected += others.length;
        if (asJson) io.out(json({ recording: path, ...report }));
        else {
          const lines = [...others, ...(all ? intended : [])].map(
            ({ exchange, side, place, kind, times, recorded, replayed, clause, why }) =>
              `  ${exchange}  ${side.padEnd(7)}  ${place} ${kind}${times > 1 ? ` (${times} times)` : ''}${
                clause ? `: ${why} [${clause}]` : `: ${recorded ?? 'absent'} -> ${replayed ?? 'absent'}`
              }\n`,
          );
          io.out(
            `${path}: ${counted(report.exchanges, 'exchange')}, ${others.length} unexpected and ${intended.length} intended differences\n${lines.join('')}`,
          );
        }
      }
      if (unexpected > 0) throw new CommandFailure('');
    });
}
