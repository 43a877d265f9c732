// Answers of the paths that the rehearsal provider does not have: the control plane and the key set.
import { CONTROL_ROWS } from '../../support/control.ts';
import { crudeAnswer } from '../../support/crude.ts';
import type { HandAnswer } from './exchanges.ts';

const CONTROL = crudeAnswer(200, JSON.stringify({ object: 'control', keys: [{ kid: 'a', n: 'é'.repeat(40) }], more: [1, 2, 3] }));

const control: HandAnswer = (writer) => void writer.write(Buffer.from(CONTROL));

export const FIXED_ANSWERS: ReadonlyMap<string, HandAnswer> = new Map(
  [...CONTROL_ROWS.map(([, path]) => path), '/backend-api/meter/agent-identities/jwks'].map((path) => [path, control]),
);
