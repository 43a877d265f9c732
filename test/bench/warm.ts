// Warms a relay up before its processor time is measured: a gateway runs for weeks, and V8 has compiled its code fully after many turns.

/** By then all functions of the gateway are compiled. */
const REQUESTS = 60_000;
const SECONDS = 8;
/** On a machine that is busy with other work it takes longer than this, and is measured nevertheless. */
const MOST_STRETCHES = 5;

/** @param load resolves with the number of requests that were answered in these seconds */
export async function warmUp(load: (seconds: number) => Promise<number>): Promise<void> {
  let answered = 0;
  for (let stretch = 0; stretch < MOST_STRETCHES && answered < REQUESTS; stretch++) answered += await load(SECONDS);
}
