// One time for the gateway and its upstream, moved by hand: what a provider says of times is then true for both.
import type { Clock as UpstreamClock } from '../../proxy/rehearsal/clock.ts';
import { HandClock } from '../models/support.ts';

export interface OneClock {
  readonly clock: HandClock;
  readonly upstream: UpstreamClock;
}

export function oneClock(): OneClock {
  const clock = new HandClock();
  return {
    clock,
    upstream: {
      now: () => clock.now(),
      wait: (ms, signal) =>
        new Promise((resolve) => {
          const finish = (): void => {
            cancel();
            signal.removeEventListener('abort', finish);
            resolve();
          };
          const cancel = clock.after(ms, finish);
          signal.addEventListener('abort', finish, { once: true });
        }),
    },
  };
}
