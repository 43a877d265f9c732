// Requests that two parsers could read differently, on every kind of row, each whole, in two pieces and byte by byte. The gateway may serve
// only requests that a strict parser reads.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { type Attack, type Case, interleaved, permutation, pick } from '../attack.ts';
import { FRAMED_ROWS, type FramedRow, runFramed } from '../calls/framed-request.ts';
import { FRAMINGS, type Parts } from '../corpus/framing.ts';

const DELIVERIES = ['whole', 'in two pieces', 'byte by byte'] as const;
type Delivery = (typeof DELIVERIES)[number];

export const framing: Attack = {
  name: 'framing',
  title: 'requests that two parsers could read differently',
  stage: 'ordinary',
  sample: 180,
  // Bytes that are not a request are refused without a row.
  allows: { unequalRows: true },
  async cases(_stage, random) {
    return interleaved([casesOf(random), editedCases(random)]);
  },
};

function* casesOf(random: SeededRandom): Generator<Case> {
  const count = FRAMINGS.length * FRAMED_ROWS.length * DELIVERIES.length;
  for (const number of permutation(count, random)) {
    const delivery = DELIVERIES[number % DELIVERIES.length] as Delivery;
    const rest = Math.floor(number / DELIVERIES.length);
    const row = FRAMED_ROWS[rest % FRAMED_ROWS.length] as FramedRow;
    const { name, frame } = FRAMINGS[Math.floor(rest / FRAMED_ROWS.length)] as (typeof FRAMINGS)[number];
    const cut = random.next();
    yield {
      name: `${row.method} ${row.path}:${name}:${delivery}`,
      run: (lane) =>
        runFramed(lane, { row, frame, mark: `mark-${number}-`, isServed: true, pieces: (bytes) => piecesOf(bytes, delivery, cut) }),
    };
  }
}

/** Delimiters, separators, and bytes that hide others. */
const EDITS = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\r\n ',
  '\0',
  '\t',
  ' ',
  ...':;,/09',
  '\x0b',
  '\x7f',
  '\x80',
  '\xff',
  'HTTP/1.1',
  'chunked',
];

/** Endless cases: an item of the list with one to three further edits in the request's own bytes. */
function* editedCases(random: SeededRandom): Generator<Case> {
  for (let number = 0; ; number++) {
    const row = pick(FRAMED_ROWS, random);
    const { name, frame } = pick(FRAMINGS, random);
    const edits = Array.from({ length: Math.floor(random.between(1, 4)) }, () => ({
      at: random.next(),
      text: pick(EDITS, random),
      replaces: random.next() < 0.5,
    }));
    const edited = (parts: Parts): string =>
      edits.reduce((text, { at, text: more, replaces }) => {
        const place = Math.floor(at * text.length);
        return text.slice(0, place) + more + text.slice(place + (replaces ? more.length : 0));
      }, frame(parts));
    const delivery = pick(DELIVERIES, random);
    const mark = `edit-${number}-`;
    const cut = random.next();
    yield {
      name: `edited ${number}:${row.method} ${row.path}:${name}:${delivery}`,
      run: (lane) => runFramed(lane, { row, frame: edited, mark, isServed: false, pieces: (bytes) => piecesOf(bytes, delivery, cut) }),
    };
  }
}

function piecesOf(bytes: Buffer, delivery: Delivery, cut: number): readonly Buffer[] {
  if (delivery === 'whole') return [bytes];
  const at = 1 + Math.floor(cut * (bytes.length - 1));
  if (delivery === 'in two pieces') return [bytes.subarray(0, at), bytes.subarray(at)];
  // Only the first bytes of a very long request, because its rest is uniform.
  const single = Math.min(bytes.length, 2_000);
  return [...Array.from({ length: single }, (_, i) => bytes.subarray(i, i + 1)), bytes.subarray(single)];
}
