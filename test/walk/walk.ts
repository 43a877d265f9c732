// The walk of one turn of each surface: the files that it passes in the order of their first calls, and how often it changes rooms.
import { filesOf } from './trace.ts';
import { TURNS, type WalkedTurn, withTurns } from './turns.ts';

export interface Walk {
  readonly turn: WalkedTurn;
  /** All files, in the order of their first calls. */
  readonly files: readonly string[];
  /** The files that a reader follows, without the vocabulary and the rules, which are one list. */
  readonly path: readonly string[];
}

/** Rooms that every room uses, and the list of rules; passing them does not count as a change of rooms. */
const ASIDE: ReadonlySet<string> = new Set(['base', 'turn', 'rules']);

/** The room of a file: `proxy/turn/rules/rule.ts` is in `turn`. */
const roomOf = (file: string): string => /^proxy\/(\w+)\//.exec(file)?.[1] ?? file.slice(0, file.indexOf('/'));

/** How often neighbours of the list are in different rooms. */
export const changesOf = (files: readonly string[]): number =>
  files.filter((file, i) => i > 0 && roomOf(file) !== roomOf(files[i - 1] as string)).length;

const isTraced = (file: string): boolean => /^(proxy|rules|store)\//.test(file) && !file.startsWith('proxy/rehearsal/');

/** @param names the names of the turns; by default all */
export const walks = (names: readonly string[] = TURNS): Promise<readonly Walk[]> =>
  withTurns(async (turns) => {
    const found: Walk[] = [];
    for (const turn of turns.filter(({ name }) => names.includes(name))) {
      // Work that is done once, such as loading, compiling, connecting and caching, does not belong to a turn.
      for (let i = 0; i < 5; i++) await turn.run();
      const files = await filesOf(turn, isTraced);
      found.push({ turn, files, path: files.filter((file) => !ASIDE.has(roomOf(file))) });
    }
    return found;
  });

/** A table with the figures of each turn, and the path of the first one. */
export function report(all: readonly Walk[]): string {
  const rows = all.map(
    ({ turn, files, path }) => `| ${turn.title} | ${path.length} | ${changesOf(path)} | ${files.length} | ${changesOf(files)} |`,
  );
  const head = '| Turn | Files of the path | Changes of rooms | Files with base, turn and rules | Changes of rooms |';
  const [first] = all;
  return [head, '| --- | --- | --- | --- | --- |', ...rows, '', ...(first ? [`${first.turn.title}:`, '', ...lines(first.path)] : [])].join(
    '\n',
  );
}

/** One item for each stay in a room. */
function lines(path: readonly string[]): readonly string[] {
  const stays: { readonly room: string; readonly files: string[] }[] = [];
  for (const file of path) {
    const room = roomOf(file);
    const last = stays.at(-1);
    const short = file
      .replace(/^proxy\//, '')
      .replace(`${room}/`, '')
      .replace(/\.ts$/, '');
    if (last?.room === room) last.files.push(short);
    else stays.push({ room, files: [short] });
  }
  return stays.map(({ room, files }, i) => `${i + 1}. \`${room}/\`: ${files.join(', ')}`);
}
