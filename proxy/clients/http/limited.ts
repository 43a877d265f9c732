// Routes whose bodies nobody reads count against the limits of their key as requests; turns with a JSON body do so by themselves (Q19).
import type { Accounting } from '../../keys/accounting.ts';
import { Reservation } from '../../keys/reservation.ts';
import type { Handler } from './http-turn.ts';

export function limited(accounting: Accounting, serve: Handler): Handler {
  return (exchange) => {
    const { turn } = exchange;
    turn.bill = new Reservation(undefined);
    const spent = accounting.reserve(turn);
    if (spent) throw spent;
    return serve(exchange);
  };
}
