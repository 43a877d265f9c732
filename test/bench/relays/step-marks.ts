// A module in the gateway whose steps are measured: it records the method with which each step of a turn begins. A step lasts until the
// next one begins.
import { writeFileSync } from 'node:fs';
import { Selection } from '../../../proxy/accounts/selection/selection.ts';
import { TurnMetrics } from '../../../proxy/admin/metrics/turn-metrics.ts';
import { Admission } from '../../../proxy/admission/admission.ts';
import { OverloadGuard } from '../../../proxy/admission/overload-guard.ts';
import { HttpClient } from '../../../proxy/clients/http/http-client.ts';
import { AttemptObservers } from '../../../proxy/dispatch/reply/reply-observers.ts';
import { Accounting } from '../../../proxy/keys/accounting.ts';
import { HttpRequests } from '../../../proxy/server/http-requests.ts';
import { Continuity } from '../../../proxy/sessions/continuity.ts';
import { RuleRun } from '../../../proxy/turn/rules/rule-run.ts';
import { UndiciCarrier } from '../../../proxy/upstream/carriers/undici-carrier.ts';
import { Credentials } from '../../../proxy/upstream/credentials/credentials.ts';
import type { StepTimes } from '../step-costs.ts';

/** The time between the steps of turns. */
const CLIENTS = 'Node: answers out, requests in; garbage; the writer of rows';
const ACCOUNTS = 'Node and undici: requests out, replies in';

/** The times in the order of the steps. */
const times = new Map<string, number>([[CLIENTS, 0]]);
let step = CLIENTS;
let since = performance.now();
let idleBefore = 0;

/** The process may wait between steps. The code checks only for waits of at least this many milliseconds. */
const SHORTEST_WAIT = 0.05;

/** The time that the process has waited since the last call. */
function waited(): number {
  const { idle } = performance.eventLoopUtilization();
  const spent = idle - idleBefore;
  idleBefore = idle;
  return spent;
}

function begin(next: string): void {
  const now = performance.now();
  const spent = now - since;
  const wait = (step === CLIENTS || step === ACCOUNTS) && spent > SHORTEST_WAIT ? waited() : 0;
  times.set(step, (times.get(step) ?? 0) + spent - wait);
  step = next;
  since = now;
}

type Methods<Of> = { [Name in keyof Of]: Of[Name] extends (...args: never[]) => unknown ? Name : never }[keyof Of];

/** @param after the step that begins after the call; by default the current step goes on, even while the method waits */
function mark<Of extends object>(name: string, { prototype }: { readonly prototype: Of }, method: Methods<Of>, after?: string): void {
  for (const one of [name, after]) if (one !== undefined) times.set(one, 0);
  const original = prototype[method] as (...args: unknown[]) => unknown;
  prototype[method] = function (this: Of, ...args: unknown[]): unknown {
    begin(name);
    const result = original.apply(this, args);
    if (after !== undefined) begin(after);
    return result;
  } as Of[typeof method];
}

mark('head: framing, route, headers, turn', HttpRequests, 'serve', CLIENTS);
mark('admission by the rules: key, route', RuleRun, 'admit');
mark('overload guard', OverloadGuard, 'refusal');
mark('body: read, checked, parsed', HttpClient, 'json');
mark('rules: request', RuleRun, 'request');
mark('limits of the key: reservation', Accounting, 'reserve');
mark('rules: edit', RuleRun, 'edit');
mark('slot of the route class', Admission, 'acquire');
mark('session and pins', Continuity, 'resume');
mark('choice of the account', Selection, 'choose');
mark('attempt: credential, request line, headers', Credentials, 'headersFor');
mark('rules: attempt; encoding of the body', RuleRun, 'attempt');
mark('handed to undici', UndiciCarrier, 'send', ACCOUNTS);
mark('reply: head, events or body, observers', AttemptObservers, 'head');
mark('rules: answer', RuleRun, 'answer');
mark('rules: end', RuleRun, 'end');
mark('answer written', HttpClient, 'answer');
mark('usage and row', Accounting, 'settle');
mark('metrics', TurnMetrics, 'record', CLIENTS);

process.on('message', (order: { readonly order: string; readonly file?: string }) => {
  if (order.order !== 'steps') return;
  begin(CLIENTS);
  if (order.file !== undefined) writeFileSync(order.file, JSON.stringify(Object.fromEntries(times) satisfies StepTimes));
  for (const name of times.keys()) times.set(name, 0);
  process.send?.('done');
});
