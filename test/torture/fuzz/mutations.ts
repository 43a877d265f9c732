// Changes at one place in a JSON text: other types, extreme numbers and strings, names that have a meaning for the engine, depth, width.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { pick } from '../attack.ts';
import { changed, Members, type Node, type Place, placesIn, Raw } from './json-text.ts';

const deep = (depth: number, open: string, close: string): Raw => new Raw(open.repeat(depth) + close.repeat(depth));

/** Values that may be put anywhere. */
const VALUES: readonly Node[] = [
  null,
  true,
  false,
  '',
  [],
  new Members([]),
  0,
  new Raw('-0'),
  new Raw('9007199254740993'),
  new Raw('123456789012345678901234567890'),
  new Raw('1e400'),
  new Raw('-1e400'),
  new Raw('1e-400'),
  new Raw('0.1e1'),
  new Raw('"\\ud800"'),
  new Raw('"\\udc00\\ud800"'),
  new Raw('"\\u0000"'),
  new Raw('"\\u2028\\u2029\\ufeff"'),
  '\u202e\u200b\u0007',
  '__proto__',
  'constructor',
  '../../etc/passwd',
  'x'.repeat(10_000),
  'é😀'.repeat(2_000),
  [null],
  [[]],
  [new Members([])],
  new Members([['type', 'function']]),
  new Members([['type', '__proto__']]),
  new Members([['__proto__', new Members([['polluted', true]])]]),
  new Members([['constructor', new Members([['prototype', new Members([['polluted', true]])]])]]),
  new Members([
    ['toString', 1],
    ['hasOwnProperty', 1],
    ['valueOf', null],
  ]),
  new Members([
    ['length', 1e9],
    ['0', 'a'],
  ]),
  new Members([['toJSON', 'a']]),
  deep(50, '[', ']'),
  deep(5_000, '[', ']'),
  new Raw(`${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`),
  new Raw(`${'{"properties":{"a":'.repeat(400)}{}${'}}'.repeat(400)}`),
  new Raw(`${'{"anyOf":['.repeat(400)}{}${']}'.repeat(400)}`),
  new Raw(`[${'0,'.repeat(5_000)}0]`),
  new Raw(`{${Array.from({ length: 2_000 }, (_, i) => `"k${i}":${i}`).join(',')}}`),
];

/** Names of members that code may look for, or that have a meaning for the engine. */
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'type',
  'id',
  'model',
  'error',
  'output',
  '',
  '0',
  '\u0000',
] as const;

type Mutation = (node: Node, place: Place, random: SeededRandom) => Node | undefined;

const replaced: Mutation = (node, place, random) => changed(node, place, () => pick(VALUES, random));
const removed: Mutation = (node, place) => (place.length === 0 ? node : changed(node, place, () => undefined));
const wrapped: Mutation = (node, place) => changed(node, place, (old) => [old]);
const unwrapped: Mutation = (node, place) => changed(node, place, (old) => (Array.isArray(old) && old.length > 0 ? old[0] : old));

/** Adds a member, with a name that exists already or one that has a meaning. */
const withMember: Mutation = (node, place, random) =>
  changed(node, place, (old) => {
    if (!(old instanceof Members)) return old;
    const name = random.next() < 0.5 ? pick(NAMES, random) : (pick(old.entries, random)?.[0] ?? 'a');
    const member = [name, pick(VALUES, random)] as const;
    return new Members(random.next() < 0.5 ? [...old.entries, member] : [member, ...old.entries]);
  });

const repeated: Mutation = (node, place, random) =>
  changed(node, place, (old) => {
    if (!Array.isArray(old) || old.length === 0) return old;
    return Array.from({ length: Math.floor(random.between(2, 200)) }, () => old[0] as Node);
  });

const renamed: Mutation = (node, place, random) =>
  changed(node, place, (old) => {
    if (!(old instanceof Members) || old.entries.length === 0) return old;
    const at = Math.floor(random.between(0, old.entries.length));
    return new Members(old.entries.map(([name, value], i) => [i === at ? pick(NAMES, random) : name, value]));
  });

const MUTATIONS: readonly Mutation[] = [
  replaced,
  replaced,
  replaced,
  removed,
  wrapped,
  unwrapped,
  withMember,
  withMember,
  repeated,
  renamed,
];

/** Makes one to three changes at places that the seed decides. */
export function mutated(node: Node, random: SeededRandom): Node {
  let now = node;
  for (let left = Math.floor(random.between(1, 4)); left > 0; left--) {
    const places = [...placesIn(now)];
    now = pick(MUTATIONS, random)(now, pick(places, random), random) ?? null;
  }
  return now;
}
