// The table of endpoints of a simulated account: the type of a row, the input of its answer, and how a request finds its row.
import type { WireWords } from '../turn/settings.ts';
import type { SimulatedAccount } from './account/simulated-account.ts';
import type { RefusalForm, SimulatedAnswer } from './delivery/answer.ts';
import type { Fault } from './faults/fault.ts';
import type { IdSequence } from './model/id-sequence.ts';
import type { SampleCatalog } from './model/sample-models.ts';
import type { Anchors } from './model/turn-request.ts';
import type { ReceivedRequest } from './received-request.ts';

/** A request, and everything that its answer depends on. */
export interface RequestContext {
  readonly request: ReceivedRequest;
  readonly account: SimulatedAccount;
  readonly catalog: SampleCatalog;
  readonly wire: WireWords;
  readonly ids: IdSequence;
  /** Unix milliseconds. */
  readonly now: number;
  /** The responses of the websocket on which a frame came. Only these can be anchors. */
  readonly anchors?: Anchors;
}

/** @param faults of the request; those that change a whole answer are applied later */
export type AnswerOf = (context: RequestContext, faults: readonly Fault[]) => SimulatedAnswer | Promise<SimulatedAnswer>;

export interface SimulatedEndpoint {
  readonly answer: AnswerOf;
  /** Whether the request counts as a turn of the account, so the faults of its profile apply. */
  readonly isTurn: boolean;
  /** Whether the request comes on a websocket. The bearer was in the upgrade. */
  readonly isFrame?: boolean;
  /** Whether the request needs no bearer. A fault that prevents the answer also prevents its effect. */
  readonly isLogin?: boolean;
  /** Whether the address is the only credential. */
  readonly isOpen?: boolean;
  /** Applies the faults that change the content; default: those of Responses replies. */
  readonly withFaults?: (answer: SimulatedAnswer, faults: readonly Fault[], form: RefusalForm) => SimulatedAnswer;
}

/** The rows by endpoint key. A `*` in a path matches any one segment. */
export class Endpoints {
  readonly #exact: ReadonlyMap<string, SimulatedEndpoint>;
  readonly #patterns: readonly (readonly [RegExp, SimulatedEndpoint])[];

  constructor(rows: readonly (readonly [string, SimulatedEndpoint])[]) {
    this.#exact = new Map(rows);
    this.#patterns = rows
      .filter(([name]) => name.includes('*'))
      .map(([name, endpoint]) => [new RegExp(`^${name.replaceAll('*', '[\\w-]+')}$`), endpoint]);
  }

  get(name: string): SimulatedEndpoint | undefined {
    return this.#exact.get(name) ?? this.#patterns.find(([pattern]) => pattern.test(name))?.[1];
  }
}

/** The key of a request in the table of endpoints: `METHOD /path`, `UPGRADE /path` or `WS /path`. */
export const endpointKey = ({ method, path, isUpgrade }: Pick<ReceivedRequest, 'method' | 'path' | 'isUpgrade'>): string =>
  `${isUpgrade ? 'UPGRADE' : method} ${path}`;
