// Whether a turn costs more in a large configuration than in a small one.
import { cost } from '../cost.ts';
import { NATIVE_PATH } from '../relays/crew.ts';
import { keyNumber, type Size, startGateway } from '../relays/gateway.ts';
import { alternate, type Measurement, type Scenario } from '../sheet.ts';
import { type Report, startLoad } from '../streams.ts';
import { requestOf } from '../wire.ts';

const CONNECTIONS = 64;
const WARM_SECONDS = 2;

export const SMALL = 'small';
export const LARGE = 'large';

/** @param figure the row's; @param large what is large in the large configuration */
export function growth(figure: string, small: Size, large: Size): Scenario {
  return async ({ stage, effort, sheet }: Measurement) => {
    const contenders = [];
    for (const [name, size] of [
      [SMALL, small],
      [LARGE, large],
    ] as const) {
      const requests = Array.from({ length: size.keys }, (_, i) => requestOf({ path: NATIVE_PATH, key: keyNumber(i) }));
      contenders.push({ name, relay: await startGateway(stage, size), requests });
    }
    await alternate(effort.runs, contenders, async ({ name, relay, requests }) => {
      const load = { port: relay.port, requests, connections: CONNECTIONS, warmSeconds: WARM_SECONDS, seconds: effort.seconds };
      const loading = await startLoad(stage, load);
      let report: Report | undefined;
      const used = await cost(stage, relay, `${figure}-${name}`, async () => {
        report = await loading.report();
      });
      if (!report || report.errors > 0) throw new Error(`${figure}: ${report?.errors} requests failed`);
      sheet.add(figure, name, used / report.replies);
    });
    for (const { relay } of contenders) await relay.child.stop();
  };
}
