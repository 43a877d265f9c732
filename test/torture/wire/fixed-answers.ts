// Answers of the paths that the rehearsal provider does not have: the control plane and the key set.
import { rawResponse } from '../../support/network/raw-upstream.ts';
import { CONTROL_ROWS } from '../../support/stages/control.ts';
import { readStrictly } from '../corpus/strict-requests.ts';
import type { HandAnswer } from './exchanges.ts';

const CONTROL = rawResponse(200, JSON.stringify({ object: 'control', keys: [{ kid: 'a', n: 'é'.repeat(40) }], more: [1, 2, 3] }));

/** Answers after the whole request has arrived. */
const control: HandAnswer = (writer, gateway, request) => {
  let all = request;
  const answer = (): boolean => {
    if (readStrictly(all).requests.length === 0) return false;
    writer.write(Buffer.from(CONTROL));
    return true;
  };
  if (answer()) return;
  const more = (bytes: Buffer): void => {
    all = Buffer.concat([all, bytes]);
    if (answer()) gateway.off('data', more);
  };
  gateway.on('data', more);
};

export const FIXED_ANSWERS: ReadonlyMap<string, HandAnswer> = new Map(
  [...CONTROL_ROWS.map(([, path]) => path), '/backend-api/meter/agent-identities/jwks'].map((path) => [path, control]),
);
