// The accounts, keys and operators for lists of commands, from the gateway that runs on the file, otherwise from the file.
import {
  type AccountListing,
  accountListing,
  isAccountsReply,
  isKeysReply,
  isTokensReply,
  type KeyListing,
  keyListing,
  type OperatorListing,
  operatorListing,
} from '../../admin/replies/listing-replies.ts';
import { systemClock } from '../../base/time/clock.ts';
import type { Config } from '../../config/config.ts';
import { type CommonOptions, type Io, inspectValid } from '../command.ts';
import { type AdminAddress, adminIn } from './address.ts';
import { reasonAlone } from './alone.ts';
import { ask, refusal, Unreachable } from './ask.ts';

interface Listing<Row> {
  readonly ofGateway: (address: AdminAddress) => Promise<readonly Row[]>;
  readonly ofFile: (config: Config) => readonly Row[];
}

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next_cursor: string | null;
}

/** The most rows of an answer. */
const PAGE = '200';

export const listedAccounts = (options: CommonOptions, io: Io): Promise<readonly AccountListing[]> =>
  listed(options, io, {
    ofGateway: (address) =>
      pages(address, 'GET /api/accounts', (reply) =>
        isAccountsReply(reply)
          ? {
              rows: reply.accounts.map(({ id, label, base_url, credential, visible, paused, max_concurrent, pools }) => ({
                ...{ id, label, base_url, credential, paused, visible, max_concurrent },
                pools: pools.map(({ pool }) => pool),
              })),
              next_cursor: reply.next_cursor,
            }
          : undefined,
      ),
    ofFile: ({ accounts, pools }) => accounts.map((account) => accountListing(account, pools)),
  });

export const listedKeys = (options: CommonOptions, io: Io): Promise<readonly KeyListing[]> =>
  listed(options, io, {
    ofGateway: (address) =>
      pages(address, 'GET /api/keys', (reply) =>
        isKeysReply(reply)
          ? {
              rows: reply.keys.map(({ limits, ...key }) => ({
                ...key,
                limits: limits.map(({ type, window, max }) => ({ type, window, max })),
              })),
              next_cursor: reply.next_cursor,
            }
          : undefined,
      ),
    ofFile: ({ keys }) => keys.map((key) => keyListing(key, systemClock.wallTime())),
  });

export const listedOperators = (options: CommonOptions, io: Io): Promise<readonly OperatorListing[]> =>
  listed(options, io, {
    async ofGateway(address) {
      const answer = await ask(address, 'GET /api/tokens');
      if (answer.status === 200 && isTokensReply(answer.body)) return answer.body.operators;
      throw refusal(answer);
    },
    ofFile: ({ operators }) => operators.map(operatorListing),
  });

/** @throws {CommandFailure} if the gateway refuses the list @throws {ConfigError} */
async function listed<Row>({ config: path }: CommonOptions, io: Io, { ofGateway, ofFile }: Listing<Row>): Promise<readonly Row[]> {
  const address = await adminIn(path, io);
  try {
    return await ofGateway(address);
  } catch (thrown) {
    const alone = reasonAlone(thrown, io);
    if (alone === undefined) throw thrown;
    if (!(thrown instanceof Unreachable)) io.err(`note: ${alone}; this is what the file has\n`);
    return ofFile(await inspectValid(path, io));
  }
}

async function pages<Row>(
  address: AdminAddress,
  request: string,
  pageOf: (reply: unknown) => Page<Row> | undefined,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const answer = await ask(address, request, { query: { limit: PAGE, ...(cursor !== undefined && { cursor }) } });
    const page = answer.status === 200 ? pageOf(answer.body) : undefined;
    if (!page) throw refusal(answer);
    rows.push(...page.rows);
    cursor = page.next_cursor;
  }
  return rows;
}
