// Which of the backend's own headers tell of an account's quota, its plan or its credits (Q8).

const LEADING = /^(?:primary|secondary|credits|plan|limit|rate|usage|active-limit|promo)/;
/** Limits of single models stand between the wire word and the slot: `x-agent-other-primary-used-percent`. */
const WITHIN = /-(?:primary|secondary)-|-limit-(?:name|id)$/;

/** @param name lower case */
export function isQuotaHeader(name: string, agent: string): boolean {
  const own = `x-${agent}-`;
  if (!name.startsWith(own)) return false;
  return LEADING.test(name.slice(own.length)) || WITHIN.test(name);
}
