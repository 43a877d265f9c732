// One lane: a Pool with two accounts of its own, so that calls on different lanes run at the same time without affecting each other.
import type { Said } from '../calls/verdict.ts';
import { Exchanges } from '../wire/exchanges.ts';
import { FIXED_ANSWERS } from '../wire/fixed-answers.ts';
import { Wire } from '../wire/wire.ts';
import type { GatewayProcess } from './gateway-process.ts';
import { accountsOf, keyOf } from './settings.ts';

/** The header without which the admin listener takes no command. */
export const COMMAND = { 'x-poolgate-command': '1' };

/** The answer to a client's turn, which is compared with its row. */
export interface Told {
  readonly status: number;
  /** The input and output tokens of a complete reply that the client saw. */
  readonly usage?: readonly [input: number, output: number];
}

export class Lane {
  readonly number: number;
  readonly accounts: readonly [string, string];
  readonly exchanges: Exchanges;
  readonly wires: readonly Wire[];
  /** The answers by request id. */
  readonly told = new Map<string, Told>();
  /** Complete replies on websockets that clients of the first key saw: the number of turns, and their tokens. */
  readonly frames = { turns: 0, input: 0, output: 0 };
  /** The corresponding numbers in the rows before this round. */
  framesBefore: readonly number[] = [];
  readonly #program: () => GatewayProcess;
  #sinceRestored = 0;

  private constructor(number: number, exchanges: Exchanges, wires: readonly Wire[], program: () => GatewayProcess) {
    this.number = number;
    this.accounts = accountsOf(number);
    this.exchanges = exchanges;
    this.wires = wires;
    this.#program = program;
  }

  /** @param providerOf returns the address of an account at the provider */
  static async open(number: number, providerOf: (account: string) => string, program: () => GatewayProcess): Promise<Lane> {
    const exchanges = new Exchanges(FIXED_ANSWERS);
    const wires = await Promise.all(accountsOf(number).map((account) => Wire.open({ account, provider: providerOf(account), exchanges })));
    return new Lane(number, exchanges, wires, program);
  }

  get url(): string {
    return this.#program().url;
  }

  /** The key for an answer. Faults may change the answers to the second key, so that its sums are not compared. */
  keyFor(said: Said): string {
    return keyOf(this.number, said);
  }

  /** Ends the cooldowns of the lane at every fourth call. Between them calls have fewer accounts, which is a case too. */
  async restore(): Promise<void> {
    this.#sinceRestored = (this.#sinceRestored + 1) % 4;
    if (this.#sinceRestored === 1) await this.endCooldowns();
  }

  /** Ends the cooldowns of its accounts, and their need for another login, as an operator does. */
  async endCooldowns(): Promise<void> {
    for (const account of this.accounts) {
      // 409 means that the account needs another login, for which its credential has to be read again.
      if ((await this.#command('restore', account)) === 409) await this.#command('relogin', account);
    }
  }

  async #command(action: 'restore' | 'relogin', account: string): Promise<number> {
    const answer = await fetch(`${this.#program().adminUrl}/api/accounts/${account}/${action}`, { method: 'POST', headers: COMMAND });
    await answer.arrayBuffer();
    if (answer.status !== 200 && answer.status !== 409) throw new Error(`${action} of ${account}: ${answer.status}`);
    return answer.status;
  }

  async close(): Promise<void> {
    await Promise.all(this.wires.map((wire) => wire.close()));
  }
}
