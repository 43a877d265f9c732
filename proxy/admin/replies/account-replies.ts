// Actions on accounts over the API: types and schemas of requests and replies, for server and clients.
import type { ChangedField } from '../../../store/schema/rows.ts';
import {
  anything,
  flag,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  record,
  type Schema,
  text,
} from '../../turn/json/field-schemas.ts';
import type { Json } from '../../turn/json/json.ts';
import type { LoginWay } from '../../upstream/credentials/login/login-run.ts';
import { checkOf } from '../api/reply-check.ts';
import type { AccountTestPlan, AccountTestReply } from './account-test-report.ts';

/** The reply of POST /api/accounts/{id}/restore and …/relogin. */
export interface AccountActionReply {
  readonly account: string;
  /** Whether another credential was found. Null if none was looked for, and for an account without a credential. */
  readonly credential: 'imported' | 'unchanged' | null;
  /** The changed fields; empty if nothing changed. */
  readonly fields: readonly ChangedField[];
}

/** The reply of GET /api/accounts/{id}/login: what has to be known before a login begins. */
export interface LoginStateReply {
  readonly account: string;
  /** Whether the running configuration has the account, with an `oauth` section. */
  readonly configured: boolean;
  /** The addresses of the login. Those of a simulated account are addresses of the running provider. */
  readonly addresses: { readonly token_url: string; readonly device_url: string | null; readonly authorize_url: string | null } | null;
  readonly login: {
    /** A digest that does not change when the login is refreshed. */
    readonly name: string;
    /** When the current tokens were stored, in Unix milliseconds. */
    readonly at: number;
    readonly identity: string | null;
  } | null;
  /** The ways in which the running gateway can log the account in, the easiest first. */
  readonly ways: readonly LoginWay[];
  /** The reason why the gateway cannot log the account in, and what to do. Null if it can, and for an account that it does not have. */
  readonly advice: string | null;
}

/** The body of POST /api/accounts/{id}/login. */
export interface LoginRequest {
  /** The tokens with the names of a tokens file. */
  readonly tokens: Readonly<Record<string, Json>>;
  /** The expiry in Unix milliseconds, if it is known separately from the tokens. */
  readonly expires_at?: number;
  readonly by: 'login' | 'import';
  /** `login.name` of the former state. Absent if it does not matter. */
  readonly former?: string | null;
  readonly another_user: boolean;
  /** For an account that is not in the running configuration yet. */
  readonly identity_claim?: string | readonly string[];
}

/** The reply of POST /api/accounts/{id}/login. */
export interface LoginReply {
  readonly account: string;
  /** False if the account had this login already. */
  readonly stored: boolean;
  /** Null if the tokens do not state it. */
  readonly identity: string | null;
  /** The number of models in the list that was read with it. Null if the list was not read. */
  readonly models: number | null;
  /** The reason why the list of models could not be read. */
  readonly failure: string | null;
  readonly quota: readonly { readonly window: string; readonly used_percent: number }[];
}

export const LOGIN_WAY: Schema<LoginWay> = oneOf(
  ['device', 'link'],
  'device: a code that is entered in any browser. link: an address that is opened, and the callback that is pasted.',
);

const SCALAR: Schema<ChangedField['from']> = {
  json: { type: ['string', 'number', 'boolean', 'null'], description: 'Of a private value only that it changed.' },
};

export const ACCOUNT_ACTION: Schema<AccountActionReply> = object({
  account: text('Id of the account.'),
  credential: nullable(
    oneOf(
      ['imported', 'unchanged'],
      'Whether another credential was found; null if the gateway did not look for one, and for an account without a credential.',
    ),
  ),
  fields: list('What changed; empty if nothing did.', object({ path: text('Path of the setting or state.'), from: SCALAR, to: SCALAR })),
});

export const LOGIN_STATE: Schema<LoginStateReply> = object({
  account: text('Id of the account.'),
  configured: flag('Whether the running configuration has it, with an `oauth` section.'),
  addresses: nullable(
    object({
      token_url: text('Of the token endpoint.'),
      device_url: nullable(text('Of the device endpoint.')),
      authorize_url: nullable(text('Of the authorization endpoint.')),
    }),
  ),
  login: nullable(
    object({
      name: text('A digest that stays the same while the login is refreshed.'),
      at: number('When its current tokens were stored, Unix milliseconds.'),
      identity: nullable(text('The identity of the user, if the tokens state it.')),
    }),
  ),
  ways: list('How the gateway can log it in, the easiest first.', LOGIN_WAY),
  advice: nullable(
    text('Why the gateway cannot log the account in, and what to do; null if it can, and for an account that it does not have.'),
  ),
});

export const LOGIN_REQUEST: Schema<LoginRequest> = object(
  {
    tokens: record('As in a tokens file.', anything('A member.')),
    by: oneOf(['login', 'import'], 'Where they come from.'),
    another_user: flag('Whether the login may be of another user than before.'),
  },
  undefined,
  {
    expires_at: number('The expiry of the tokens if it is known; Unix milliseconds.'),
    former: nullable(text('`login.name` of the state before; absent if it does not matter.')),
    identity_claim: {
      json: {
        type: ['string', 'array'],
        items: { type: 'string' },
        description: 'Of an account that the configuration does not have yet.',
      },
    } satisfies Schema<string | readonly string[]> as Schema<string | readonly string[]>,
  },
);

export const LOGIN: Schema<LoginReply> = object({
  account: text('Id of the account.'),
  stored: flag('False if the account already had this login.'),
  identity: nullable(text('Null if the tokens do not state it.')),
  models: nullable(integer('Number of models in the list that was read with it; null if the list was not read.')),
  failure: nullable(text('Why the list of models could not be read.')),
  quota: list('What was read with it.', object({ window: text('Class of the window.'), used_percent: number('Of the window.') })),
});

const CARRIER = oneOf(['http', 'websocket'], 'A carrier.');

export const TEST_PLAN: Schema<AccountTestPlan> = object({
  account: text('Id of the account.'),
  api: text('Its API.'),
  preset: nullable(text('Its preset.')),
  model: nullable(text('Exposed model id; null without a turn.')),
  over: list('The carriers that get a turn each.', CARRIER),
  at_most_usd: nullable(number('The maximum cost of all its turns; null if it is not known.')),
});

export const TEST_REPORT: Schema<AccountTestReply> = object({
  plan: TEST_PLAN,
  steps: list(
    'In order.',
    object({
      step: oneOf(['credential', 'models', 'turn', 'tool_result'], 'What was tried.'),
      over: nullable(CARRIER),
      ok: flag('Whether it succeeded.'),
      ms: number('How long it took.'),
      first_event_ms: nullable(number('The time to the first event of a turn; null if no event came.')),
      found: nullable(text('What was found.')),
      failure: nullable(
        object({
          class: text('Class of the failure.'),
          status: nullable(integer('Of the answer.')),
          code: nullable(text('Of the error.')),
          param: nullable(text('That the error names.')),
          message: nullable(text('Of the error.')),
        }),
      ),
      usage: nullable(
        object({
          input_tokens: nullable(integer('As the gateway understood it.')),
          cached_input_tokens: nullable(integer('As the gateway understood it.')),
          output_tokens: nullable(integer('As the gateway understood it.')),
          reasoning_tokens: nullable(integer('As the gateway understood it.')),
          estimated: flag('Whether it is an estimate.'),
        }),
      ),
      adapted: list('What the request lost or changed for the account.', text('A name.')),
      quirks: list('Lines for its `quirks` that would have avoided the failure.', text('A line.')),
    }),
  ),
  ok: flag('Whether all steps succeeded.'),
});

export const isAccountActionReply = checkOf(ACCOUNT_ACTION);
export const isLoginStateReply = checkOf(LOGIN_STATE);
export const isLoginReply = checkOf(LOGIN);
export const isAccountTestPlan = checkOf(TEST_PLAN);
export const isAccountTestReply = checkOf(TEST_REPORT);
