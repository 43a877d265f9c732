// The request for a client's upgrade. Each turn of the connection begins with it, in the configuration of that moment.
import { refusalOf } from '../turn/errors/refusal.ts';
import { LiveTurn } from '../turn/live-turn.ts';
import type { Match } from '../turn/routes/route-table.ts';
import type { KeyConfig } from '../turn/settings.ts';
import type { Headers, ModeDecision } from '../turn/turn.ts';
import type { TurnHost } from '../turn/turn-host.ts';
import type { Generation } from './generation.ts';

/** The request for an upgrade, from a client or forwarded by another node. */
export interface UpgradeRequest {
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
  /** The client's address; undefined if it is not known. */
  readonly address: string | undefined;
  readonly client: { keyOf(secret: string, generation: Generation): KeyConfig | undefined };
}

/** Why a connection accepts no further turn. */
export const UNUSABLE_KEY = 'the key cannot be used any more';
const NOT_SERVED = 'this endpoint is not served any more';

export class ClientUpgrade {
  /** The turn of the upgrade itself. */
  readonly turn: LiveTurn;
  readonly #request: UpgradeRequest;
  readonly #host: TurnHost;
  /** The row of the route table for it, in the configuration of the last frame. */
  #found: { readonly generation: Generation; readonly match: Match | undefined } | undefined;

  constructor(request: UpgradeRequest, match: Match, generation: Generation, host: TurnHost) {
    this.#request = request;
    this.#host = host;
    this.turn = this.#turn(match, generation, undefined);
  }

  /** A further turn. Undefined if this configuration has no such row. @param mode the mode that another node captured for it */
  turnIn(generation: Generation, mode?: ModeDecision): LiveTurn | undefined {
    if (this.#found?.generation !== generation) {
      const found = generation.routes.find('WS', this.#request.path);
      this.#found = { generation, match: found && 'route' in found ? found : undefined };
    }
    const { match } = this.#found;
    return match && this.#turn(match, generation, mode);
  }

  /** The reason why the connection accepts no further turn in this configuration; undefined if it does. */
  unusableIn(generation: Generation): string | undefined {
    const turn = this.turnIn(generation);
    if (!turn) return NOT_SERVED;
    try {
      turn.rules.admit();
      return undefined;
    } catch (thrown) {
      return refusalOf(thrown).status === 401 ? UNUSABLE_KEY : NOT_SERVED;
    }
  }

  #turn({ route, params }: Match, generation: Generation, mode: ModeDecision | undefined): LiveTurn {
    const { path, query, headers, address, client } = this.#request;
    const keyOf = (secret: string): KeyConfig | undefined => client.keyOf(secret, generation);
    const arrival = { route, params, client: 'websocket', method: 'WS', path, headers, query, address, keyOf, mode } as const;
    return new LiveTurn(arrival, generation, this.#host);
  }
}
