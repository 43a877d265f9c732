// Routes whose bodies nobody reads count against the limits of their key as requests; turns with a JSON body do so by themselves (Q19).
import type { Accounting } from '../../keys/accounting.ts';
import { Refusal } from '../../turn/refusal.ts';
import type { Handler } from './http-turn.ts';

export function limited(accounting: Accounting, serve: Handler): Handler {
  return (exchange) => {
    const { turn } = exchange;
    const reserved = accounting.reserve(turn, undefined);
    if (reserved instanceof Refusal) throw reserved;
    turn.bill = reserved;
    return serve(exchange);
  };
}
