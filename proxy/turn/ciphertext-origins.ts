// Which ciphertext of a turn an account cannot read. Ciphertext can be read only by the API and address that made it (AA21).
import { isList, isObject, type Json } from './json/json.ts';
import type { Lack } from './provider/lack.ts';
import type { AccountConfig, OverflowConfig } from './settings.ts';
import type { Body } from './turn.ts';

/** The items of a turn that one account cannot read. */
class ForeignItems {
  readonly #items: ReadonlySet<Json>;

  constructor(items: ReadonlySet<Json>) {
    this.#items = items;
  }

  /**
   * What the account lacks because of these items. A compaction is never left out of a turn. Reasoning is left out, unless the Pool keeps
   * it.
   */
  lack(reasoning: OverflowConfig['reasoning']): Lack | undefined {
    if ([...this.#items].some((item) => isObject(item) && item.type !== 'reasoning')) return { reason: 'compaction_item' };
    return reasoning === 'keep' ? { reason: 'ciphertext' } : undefined;
  }

  without(body: Body): Body {
    const { input } = body;
    return isList(input) ? { ...body, input: input.filter((item) => !this.#items.has(item)) } : body;
  }
}

export class CiphertextOrigins {
  /** The maker of each item with ciphertext; undefined if the maker is unknown. */
  readonly #makers: ReadonlyMap<Json, AccountConfig | undefined>;

  constructor(makers: ReadonlyMap<Json, AccountConfig | undefined>) {
    this.#makers = makers;
  }

  /** Undefined if the account can read all ciphertext of the turn. An agent backend also gets ciphertext of an unknown maker (Q10). */
  foreignTo(account: AccountConfig): ForeignItems | undefined {
    const foreign = [...this.#makers].flatMap(([item, maker]) => (isForeign(maker, account) ? [item] : []));
    return foreign.length === 0 ? undefined : new ForeignItems(new Set(foreign));
  }
}

function isForeign(maker: AccountConfig | undefined, account: AccountConfig): boolean {
  if (!maker) return account.api !== 'agent';
  return maker.api !== account.api || maker.base_url !== account.base_url;
}
