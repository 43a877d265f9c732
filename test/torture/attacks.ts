// THE ORDER of the attacks by stage. Attacks that do not affect the whole process of the gateway come first.
import type { Attack } from './attack.ts';
import { clientBodies } from './attacks/client/client-bodies.ts';
import { clientBytes } from './attacks/client/client-bytes.ts';
import { clientFrames } from './attacks/client/client-frames.ts';
import { clientLeaves } from './attacks/client/client-leaves.ts';
import { clock } from './attacks/clock.ts';
import { cost } from './attacks/cost.ts';
import { descriptors } from './attacks/descriptors.ts';
import { framing } from './attacks/framing.ts';
import { hostileAnswers } from './attacks/hostile-answers.ts';
import { hostileEvents } from './attacks/hostile-events.ts';
import { hostileFrames } from './attacks/hostile-frames.ts';
import { json } from './attacks/json.ts';
import { kill } from './attacks/kill.ts';
import { memory } from './attacks/memory.ts';
import { nodes } from './attacks/nodes.ts';
import { ownCalls } from './attacks/own-calls.ts';
import { chatBytes, providerBytes, responsesBytes } from './attacks/provider-bytes.ts';
import { providerEvents } from './attacks/provider-events.ts';
import { providerSockets } from './attacks/provider-sockets.ts';
import { store } from './attacks/store.ts';
import type { StagedAttack } from './own-stage.ts';
import { pressure } from './pressure/pressure.ts';

export const ATTACKS: readonly (Attack | StagedAttack)[] = [
  cost,
  memory,
  clientFrames,
  framing,
  clientBytes,
  clientBodies,
  clientLeaves,
  json,
  providerEvents,
  providerBytes,
  providerSockets,
  hostileAnswers,
  hostileEvents,
  hostileFrames,
  clock,
  descriptors,
  responsesBytes,
  chatBytes,
  ownCalls,
  kill,
  store,
  nodes,
  pressure,
];
