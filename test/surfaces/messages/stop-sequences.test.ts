// A stop sequence is found at the character that completes it, however the text is divided (AM48, AM50).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Scanned, StopSequences } from '../../../proxy/surfaces/messages/stop-sequences.ts';

/** The definition of the result, tried at every character. */
function expected(text: string, sequences: readonly string[]): Scanned {
  for (let end = 1; end <= text.length; end++) {
    const ending = sequences.filter((sequence) => text.slice(0, end).endsWith(sequence)).sort((a, b) => b.length - a.length);
    const [match] = ending;
    if (match !== undefined) return { text: text.slice(0, end - match.length), match };
  }
  return { text };
}

function scanned(pieces: readonly string[], sequences: readonly string[]): Scanned {
  const matcher = new StopSequences(sequences).matcher();
  let text = '';
  for (const piece of pieces) {
    const read = matcher.read(piece);
    text += read.text;
    if (read.match !== undefined) return { text, match: read.match };
  }
  return { text: text + matcher.end() };
}

/** All texts of two characters up to a length. */
function texts(length: number): readonly string[] {
  if (length === 0) return [''];
  const shorter = texts(length - 1);
  return [...shorter, ...shorter.filter((text) => text.length === length - 1).flatMap((text) => [`${text}a`, `${text}b`])];
}

describe('[AM48] [AM50] stop sequences', () => {
  const SETS = [['aab'], ['ab', 'b'], ['abab', 'ba'], ['aa', 'aaa'], ['aba', 'bab', 'abb'], ['abaab', 'aaba']];
  for (const sequences of SETS) {
    test(`every text of up to eight characters, at every division: ${sequences.join(', ')}`, () => {
      for (const text of texts(8)) {
        const wanted = expected(text, sequences);
        assert.deepEqual(scanned([text], sequences), wanted);
        assert.deepEqual(scanned([...text], sequences), wanted);
        for (let at = 1; at < text.length; at++) assert.deepEqual(scanned([text.slice(0, at), text.slice(at)], sequences), wanted);
      }
    });
  }

  test('a text is held back only as long as its end can begin a sequence', () => {
    const matcher = new StopSequences(['END.']).matcher();
    assert.deepEqual(
      ['one E', 'N', 'D', '! EN', ''].map((piece) => matcher.read(piece).text),
      ['one ', '', '', 'END! ', ''],
    );
    assert.equal(matcher.end(), 'EN');
  });

  test('a match may begin in any earlier piece', () => {
    assert.deepEqual(scanned(['a\u{1f600}'.slice(0, 2), '\ude00', 'b'], ['\u{1f600}b']), { text: 'a', match: '\u{1f600}b' });
  });
});
