// What becomes of a turn whose ciphertext an account refused, as a table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedDigest } from '../../proxy/encryption/digest.ts';
import { Ciphertexts } from '../../proxy/sessions/ciphertext.ts';
import { type Refused, recoveryOf } from '../../proxy/sessions/ciphertext-moves.ts';
import type { Json } from '../../proxy/turn/json.ts';

const reasoning = (by: string) => ({ type: 'reasoning', summary: [], encrypted_content: `enc_${by}_1` });
const compaction = (by: string) => ({ type: 'compaction', encrypted_content: `cmp_${by}_1` });
const user = { type: 'message', role: 'user', content: 'go on' };

/** Ciphertexts of north, south and west are remembered; those of `lost` are of unknown making. */
function known(): Ciphertexts {
  const ciphertexts = new Ciphertexts(new KeyedDigest(Buffer.alloc(32, 7)));
  for (const by of ['north', 'south', 'west']) for (const item of [reasoning(by), compaction(by)]) ciphertexts.learn(item, by);
  return ciphertexts;
}

interface Case {
  readonly says: string;
  readonly input: readonly Json[];
  readonly given?: Partial<Omit<Refused, 'closed'>> & { readonly closed?: readonly string[] };
  readonly next: string;
}

/** South refused. */
const cases: readonly Case[] = [
  { says: 'reasoning of an account that can take it goes back there', input: [reasoning('north'), user], next: 'move north' },
  {
    says: 'of an account that cannot, it is left out',
    input: [reasoning('north'), user],
    given: { closed: ['north'] },
    next: 'resend message',
  },
  { says: 'of unknown making likewise', input: [user, reasoning('lost'), user], next: 'resend message message' },
  {
    says: 'unless its session was elsewhere: there it was made, most likely',
    input: [reasoning('lost'), user],
    given: { session: 'west' },
    next: 'move west',
  },
  {
    says: 'the session at the refusing account says nothing',
    input: [reasoning('lost'), user],
    given: { session: 'south' },
    next: 'resend message',
  },
  { says: 'it is left out once', input: [reasoning('lost'), user], given: { resent: true }, next: 'tell' },
  { says: 'an account gets its own back even so', input: [reasoning('west'), user], given: { resent: true }, next: 'move west' },
  { says: 'compaction goes back too', input: [compaction('north'), user], next: 'move north' },
  { says: 'and is never left out', input: [compaction('north'), user], given: { closed: ['north'] }, next: 'restart' },
  { says: 'nor one of unknown making', input: [compaction('lost'), user], next: 'restart' },
  { says: 'the maker of compaction comes before that of reasoning', input: [reasoning('west'), compaction('north')], next: 'move north' },
  {
    says: 'but what the provider named comes first',
    input: [reasoning('west'), compaction('north')],
    given: { param: 'input.0.encrypted_content' },
    next: 'move west',
  },
  {
    says: 'reasoning that was named may go where compaction stays',
    input: [compaction('south'), reasoning('west'), user],
    given: { param: 'input[1].encrypted_content', closed: ['west'] },
    next: 'resend compaction message',
  },
  {
    says: 'compaction that was named is not helped by leaving out reasoning',
    input: [compaction('lost'), reasoning('lost'), user],
    given: { param: 'input.0' },
    next: 'restart',
  },
  {
    says: 'unnamed, it may be helped',
    input: [compaction('lost'), reasoning('lost'), user],
    next: 'resend compaction message',
  },
  {
    says: 'and when it was not, only a new start helps',
    input: [compaction('lost'), user],
    given: { resent: true },
    next: 'restart',
  },
  { says: 'a turn without ciphertext is not helped', input: [user], next: 'tell' },
  { says: 'nor one that would be empty', input: [reasoning('lost')], next: 'tell' },
  {
    says: 'nonsense in the input or in what the provider names breaks nothing',
    input: [null, 7, 'x', [], { encrypted_content: 9 }, reasoning('lost')],
    given: { param: 'input.99999.x' },
    next: 'resend null 7 x [] {}',
  },
];

const shown = (item: Json): string => {
  if (typeof item !== 'object' || item === null) return String(item);
  if (Array.isArray(item)) return '[]';
  return String((item as { type?: Json }).type ?? '{}');
};

for (const { says, input, given = {}, next } of cases) {
  test(`refused ciphertext: ${says}`, () => {
    const { closed = [], ...rest } = given;
    const refused: Refused = {
      body: { model: 'model-a', input },
      param: null,
      account: 'south',
      closed: (account) => closed.includes(account),
      resent: false,
      session: undefined,
      agent: 'agent',
      ...rest,
    };
    const recovery = recoveryOf(refused, known());
    const told = {
      move: () => ('account' in recovery ? ` ${recovery.account}` : ''),
      resend: () => ('body' in recovery ? ` ${(recovery.body.input as Json[]).map(shown).join(' ')}` : ''),
      restart: () => '',
      tell: () => '',
    }[recovery.kind]();
    assert.equal(recovery.kind + told, next);
    assert.deepEqual(refused.body.input, input, 'the turn itself is not edited');
    if (recovery.kind !== 'restart') return;
    assert.equal(recovery.refusal.code, 'continuation_requires_restart');
    assert.deepEqual(recovery.refusal.headers, { 'x-agent-recovery': 'restart_with_full_context' });
  });
}

test('of two ciphertexts that begin alike, each has its own maker, however long they are', () => {
  const ciphertexts = known();
  const long = (end: string) => ({ type: 'reasoning', encrypted_content: 'gAAAA'.padEnd(100_000, 'x') + end });
  ciphertexts.learn(long('1'), 'north');
  ciphertexts.learn(long('2'), 'south');
  assert.deepEqual(
    [ciphertexts.makerOf(long('1')), ciphertexts.makerOf(long('2')), ciphertexts.makerOf(long('3'))],
    ['north', 'south', undefined],
  );
});
