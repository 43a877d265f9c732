// How a turn continues after an account refused its ciphertext, as a table, and the makers of ciphertext in memory and in the store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counters } from '../../proxy/base/process/metrics.ts';
import { KeyedDigest } from '../../proxy/encryption/digest.ts';
import { itemsToLookUp, type RefusedTurn, recoveryOf } from '../../proxy/sessions/ciphertext-refusal.ts';
import { Ciphertexts } from '../../proxy/sessions/issued-values.ts';
import { PinCache } from '../../proxy/sessions/pins/pin-cache.ts';
import type { Json } from '../../proxy/turn/json/json.ts';
import type { PinRow } from '../../store/store.ts';

const reasoning = (by: string) => ({ type: 'reasoning', summary: [], encrypted_content: `enc_${by}_1` });
const compaction = (by: string) => ({ type: 'compaction', encrypted_content: `cmp_${by}_1` });
const user = { type: 'message', role: 'user', content: 'go on' };

/** The pins of the store by hash, for any number of caches, and the number of reads. */
function pinStore() {
  const rows = new Map<string, PinRow>();
  const store = {
    reads: 0,
    put: (row: PinRow): void => void rows.set(row.hash, row),
    putNow: (): void => undefined,
    load: async (): Promise<readonly PinRow[]> => [],
    find: async (hash: string): Promise<PinRow | undefined> => {
      store.reads += 1;
      return rows.get(hash);
    },
  };
  return store;
}

const pinsOver = (store: ReturnType<typeof pinStore>): PinCache =>
  new PinCache({
    store,
    digest: new KeyedDigest(Buffer.alloc(32, 7)),
    clock: { now: () => 1, wallTime: () => 1, after: () => () => undefined },
    counters: new Counters(),
    capacity: 100,
  });

/** A memory of the ciphertexts of north, south and west; the maker of `lost` is unknown. */
function known(): Ciphertexts {
  const ciphertexts = new Ciphertexts(pinsOver(pinStore()));
  for (const by of ['north', 'south', 'west']) for (const item of [reasoning(by), compaction(by)]) ciphertexts.learn(item, by);
  return ciphertexts;
}

interface Case {
  readonly says: string;
  readonly input: readonly Json[];
  readonly given?: Partial<Omit<RefusedTurn, 'closed'>> & { readonly closed?: readonly string[] };
  readonly next: string;
}

/** South has refused the ciphertext in all cases. */
const cases: readonly Case[] = [
  { says: 'reasoning of an account that can take it goes back there', input: [reasoning('north'), user], next: 'move north' },
  {
    says: 'it is left out where its maker cannot take it',
    input: [reasoning('north'), user],
    given: { closed: ['north'] },
    next: 'resend message',
  },
  { says: 'reasoning of an unknown maker is left out too', input: [user, reasoning('lost'), user], next: 'resend message message' },
  {
    says: 'unless its session was at another account, which most likely made it',
    input: [reasoning('lost'), user],
    given: { session: 'west' },
    next: 'move west',
  },
  {
    says: 'a session at the refusing account gives no evidence',
    input: [reasoning('lost'), user],
    given: { session: 'south' },
    next: 'resend message',
  },
  { says: 'it is left out once', input: [reasoning('lost'), user], given: { resent: true }, next: 'none' },
  { says: 'an account still gets its own reasoning back', input: [reasoning('west'), user], given: { resent: true }, next: 'move west' },
  { says: 'compaction goes back too', input: [compaction('north'), user], next: 'move north' },
  { says: 'compaction is never left out', input: [compaction('north'), user], given: { closed: ['north'] }, next: 'restart' },
  { says: 'compaction of an unknown maker is not left out either', input: [compaction('lost'), user], next: 'restart' },
  { says: 'the maker of compaction comes before that of reasoning', input: [reasoning('west'), compaction('north')], next: 'move north' },
  {
    says: 'but the item that the provider named comes first',
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
    says: 'a refusal of named compaction is not recovered by leaving out reasoning',
    input: [compaction('lost'), reasoning('lost'), user],
    given: { param: 'input.0' },
    next: 'restart',
  },
  {
    says: 'a refusal of unnamed compaction may be recovered so',
    input: [compaction('lost'), reasoning('lost'), user],
    next: 'resend compaction message',
  },
  {
    says: 'and when it was not, the client has to restart',
    input: [compaction('lost'), user],
    given: { resent: true },
    next: 'restart',
  },
  { says: 'a turn without ciphertext is not recovered', input: [user], next: 'none' },
  { says: 'a turn that would become empty is not recovered', input: [reasoning('lost')], next: 'none' },
  {
    says: 'malformed input, or a malformed name from the provider, breaks nothing',
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
    const refused: RefusedTurn = {
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
    const detail = {
      move: () => ('account' in recovery ? ` ${recovery.account}` : ''),
      resend: () => ('body' in recovery ? ` ${(recovery.body.input as Json[]).map(shown).join(' ')}` : ''),
      restart: () => '',
      none: () => '',
    }[recovery.kind]();
    assert.equal(recovery.kind + detail, next);
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

test('the maker of a ciphertext that another process saw is read from the store', async () => {
  const store = pinStore();
  const pins = pinsOver(store);
  new Ciphertexts(pins).learn(reasoning('north'), 'north');
  pins.flush();
  const other = new Ciphertexts(pinsOver(store));
  assert.equal(other.makerOf(reasoning('north')), undefined);
  await other.lookUp([reasoning('north')]);
  assert.equal(other.makerOf(reasoning('north')), 'north');
  await other.lookUp([reasoning('north')]);
  assert.equal(store.reads, 1, 'memory knows it now');
});

test('a refused turn reads at most eight makers from the store, the most important first', async () => {
  const items = Array.from({ length: 40 }, (_, n) => reasoning(`maker-${n}`));
  const input = [...items.slice(0, 20), compaction('first'), user, ...items.slice(20), compaction('last')];
  const order = itemsToLookUp({ model: 'model-a', input }, 'input.2.encrypted_content');
  assert.deepEqual(order.slice(0, 4), [items[2], compaction('last'), compaction('first'), items[39]]);
  const store = pinStore();
  const pins = pinsOver(store);
  const writing = new Ciphertexts(pins);
  for (const item of items) writing.learn(item, 'north');
  pins.flush();
  const reading = new Ciphertexts(pinsOver(store));
  await reading.lookUp(order);
  assert.equal(store.reads, 8);
  assert.deepEqual([reading.makerOf(items[2]), reading.makerOf(items[39]), reading.makerOf(items[20])], ['north', 'north', undefined]);
});

test('[S4] neither the ciphertext nor its end is stored', () => {
  const store = pinStore();
  const written: PinRow[] = [];
  store.put = (row) => void written.push(row);
  const pins = pinsOver(store);
  new Ciphertexts(pins).learn(reasoning('north'), 'north');
  assert.equal(written.length, 0, 'the write is queued');
  pins.flush();
  assert.match(written[0]?.hash ?? '', /^[\w-]{16}$/);
  assert.doesNotMatch(JSON.stringify(written), /enc_north/);
});
