// Warms a relay up before its processor time is measured, because V8 has compiled the code of a gateway fully only after many turns.

/** After this many requests all functions of the gateway are compiled. */
const REQUESTS = 60_000;
const SECONDS = 8;
/** A busy machine takes more stretches than this; it is then measured anyway. */
const MOST_STRETCHES = 5;

/** @param load resolves with the number of requests that were answered in these seconds */
export async function warmUp(load: (seconds: number) => Promise<number>): Promise<void> {
  let answered = 0;
  for (let stretch = 0; stretch < MOST_STRETCHES && answered < REQUESTS; stretch++) answered += await load(SECONDS);
}
