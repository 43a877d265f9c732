// The refusals of an upgrade in the forms of real providers. A server without websockets refuses without an error code.
import type { Json } from '../../turn/json/json.ts';
import { jsonAnswer, type RefusalForm, refusedAnswer, type SimulatedAnswer, withContentFaults } from '../delivery/answer.ts';
import { type Fault, faultOfKind } from './fault.ts';

/** The bodies of servers and proxies that do not have the path, by status. */
const PLAIN_BODIES: Readonly<Record<number, Json>> = {
  404: { detail: 'Not Found' },
  405: { detail: 'Method Not Allowed' },
  426: { detail: 'Upgrade Required' },
  501: { detail: 'Not Implemented' },
};

/** Applies `refuse upgrade`, and a scripted answer. */
export function withUpgradeRefusal(answer: SimulatedAnswer, faults: readonly Fault[], form: RefusalForm): SimulatedAnswer {
  if (faultOfKind(faults, 'reply') !== undefined) return withContentFaults(answer, faults, form);
  const fault = faultOfKind(faults, 'refuse-upgrade');
  if (fault === undefined) return answer;
  return fault.code === undefined && fault.status in PLAIN_BODIES ? simulatedRefusal(fault.status) : refusedAnswer(fault, answer, form);
}

export function simulatedRefusal(status: number): SimulatedAnswer {
  return jsonAnswer(status, PLAIN_BODIES[status] ?? {});
}
