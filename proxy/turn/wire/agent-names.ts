// Names that contain the agent's word. Each is made once, because every turn looks headers up by several of them.

/** @param make makes a name, or several, of the agent's word; called once for each word */
export function perAgent<Names>(make: (agent: string) => Names): (agent: string) => Names {
  const made = new Map<string, Names>();
  return (agent) => {
    const known = made.get(agent);
    if (known !== undefined) return known;
    const names = make(agent);
    made.set(agent, names);
    return names;
  };
}

/** The prefix of the headers that only agent clients and agent backends send. */
export const agentPrefix = perAgent((agent) => `x-${agent}-`);

/** The name of the turn state: of a request header, of an answer's header, and of an entry of `client_metadata`. */
export const turnStateName = perAgent((agent) => `x-${agent}-turn-state`);
