// The backend's headers that state an account's quota, plan or credits (Q8).

const LEADING = /^(?:primary|secondary|credits|plan|limit|rate|usage|active-limit|promo)/;
/** Matches quota headers of a single model, which have the model's name before the slot: `x-agent-other-primary-used-percent`. */
const WITHIN = /-(?:primary|secondary)-|-limit-(?:name|id)$/;

/** @param name in lower case */
export function isQuotaHeader(name: string, agent: string): boolean {
  const own = `x-${agent}-`;
  if (!name.startsWith(own)) return false;
  return LEADING.test(name.slice(own.length)) || WITHIN.test(name);
}
