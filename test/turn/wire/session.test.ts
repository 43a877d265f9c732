// The session and the turn state of a turn.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepOwnTurnState, turnStatesIn } from '../../../proxy/sessions/issued-values.ts';
import type { Outgoing } from '../../../proxy/turn/turn.ts';
import { sessionOf } from '../../../proxy/turn/wire/session-header.ts';
import { ACCOUNT, frozen } from '../../support/turns/turn.ts';

const wire = { agent: 'agent', meter: 'meter', lite_marker: 'x-internal-agent-responses-lite', client_version: '0.0.0' };

const inOrder = [
  'x-agent-window-id',
  'x-agent-session-id',
  'session-id',
  'x-session-id',
  'x-session-affinity',
  'session_id',
  'x-agent-conversation-id',
];

test('[F8.1] of the continuity headers the first present one is used, whichever of the others are there', () => {
  for (const [first, name] of inOrder.entries()) {
    const later = Object.fromEntries(inOrder.slice(first).map((one) => [one, `of ${one}`]));
    assert.equal(sessionOf(later, wire), `of ${name}`);
    assert.equal(sessionOf({ [name]: 'alone' }, wire), 'alone');
  }
  assert.equal(sessionOf({ 'x-request-id': 'x', 'thread-id': 'y' }, wire), undefined);
});

test('[F8.1] a window belongs to its thread: the part before the last colon', () => {
  const named = (value: string) => sessionOf({ 'x-agent-window-id': value, 'session-id': 'second' }, wire);
  assert.equal(named('01a1-9e2a:0'), '01a1-9e2a');
  assert.equal(named('01a1-9e2a:17'), '01a1-9e2a');
  assert.equal(named('a:b:2'), 'a:b');
  assert.equal(named('no colon'), 'no colon');
  // This is not a thread of a client, so the next header is used.
  assert.equal(named(':3'), 'second');
  assert.equal(sessionOf({ 'session-id': 'a:b' }, wire), 'a:b');
});

test('[F8.1] a blank header counts as absent: otherwise all clients that send one would share a session', () => {
  assert.equal(sessionOf({ 'x-agent-window-id': ' ', 'x-agent-session-id': '', session_id: 'third' }, wire), 'third');
});

test('[F8.1] the vendor word of the deployment replaces the neutral one of the contract', () => {
  const vendor = { ...wire, agent: 'acme' };
  assert.equal(sessionOf({ 'x-acme-window-id': 't:1', 'x-agent-window-id': 'u:1' }, vendor), 't');
  assert.equal(sessionOf({ 'x-agent-window-id': 'u:1' }, vendor), undefined);
});

test('turn state is read from the header and from client_metadata', () => {
  const name = 'x-agent-turn-state';
  assert.deepEqual(turnStatesIn({}, { input: [] }, wire), []);
  assert.deepEqual(turnStatesIn({ [name]: 'a' }, undefined, wire), ['a']);
  assert.deepEqual(turnStatesIn({}, { client_metadata: { [name]: 'b' } }, wire), ['b']);
  assert.deepEqual(turnStatesIn({ [name]: 'a' }, { client_metadata: { [name]: 'a' } }, wire), ['a']);
  assert.deepEqual(turnStatesIn({ [name]: 'a' }, { client_metadata: { [name]: 'b' } }, wire), ['a', 'b']);
  for (const client_metadata of [null, 'text', 7, ['x'], { [name]: 7 }]) assert.deepEqual(turnStatesIn({}, { client_metadata }, wire), []);
});

test('turn state stays in an attempt at its issuer, and only there', () => {
  const name = 'x-agent-turn-state';
  const out = (header: string, entry: unknown): Outgoing => ({
    account: ACCOUNT,
    api: 'agent',
    carrier: 'http',
    path: '/',
    headers: { [name]: header, other: 'x' },
    body: { client_metadata: frozen({ [name]: entry as string, session_id: 's' }) },
  });
  const both = out('mine', 'mine');
  keepOwnTurnState(both, (value) => value === 'mine', wire);
  assert.deepEqual([both.headers, both.body], [{ [name]: 'mine', other: 'x' }, { client_metadata: { [name]: 'mine', session_id: 's' } }]);
  const mixed = out('theirs', 'mine');
  keepOwnTurnState(mixed, (value) => value === 'mine', wire);
  assert.deepEqual([mixed.headers, mixed.body], [{ other: 'x' }, { client_metadata: { [name]: 'mine', session_id: 's' } }]);
  const none = out('theirs', 7);
  keepOwnTurnState(none, (value) => value === 'mine', wire);
  assert.deepEqual([none.headers, none.body], [{ other: 'x' }, { client_metadata: { session_id: 's' } }]);
});
