// What rules do to a turn by its key, its Pool and its model; what they do by its body cannot be said without one.
import { omittedEffort, permittedEfforts } from '../../../rules/effort/levels.ts';
import type { Facts } from './explanation.ts';

type Says = (facts: Facts) => string | undefined;

const inMode =
  (wanted: 'lite' | 'full', does: string): Says =>
  ({ mode }) => {
    if (!mode) return undefined;
    if (mode.effective === null) return `${does} where the mode is ${wanted === 'lite' ? 'Lite' : 'Full'}`;
    return mode.effective === wanted ? does : `rests: the mode is ${mode.effective === 'lite' ? 'Lite' : 'Full'}`;
  };

/** By the rules' names, in no order of their own. */
const SAYS: Readonly<Record<string, Says>> = {
  authenticate: ({ key }) => key && `opens Pool ${key.pool} for key ${key.id}, which is ${key.status}`,
  'image-permission': ({ pool }) => (pool.allow_image_generation ? 'lets image requests by' : 'refuses image requests: 403'),
  'model-access': ({ key, model }) => {
    if (model === undefined) return key?.models && `lets by: ${key.models.join(', ') || 'nothing'}`;
    return key?.models?.includes(model) === false ? 'refuses: 403 model_not_allowed' : `lets ${model} by, where the Pool knows it`;
  },
  'serving-mode': ({ mode }) => mode?.why,
  'lite-tool-choice': inMode('lite', 'refuses a map-shaped tool_choice'),
  'lift-instructions': inMode('full', 'lifts system and developer texts of the compatible surface'),
  'lite-rewrite': inMode('lite', 'moves tools and instructions into input'),
  'lite-marker': inMode('lite', 'adds the marker'),
  'full-rejection': ({ mode }) => {
    if (!mode) return undefined;
    return mode.configured === 'full'
      ? 'answers a provider’s 4xx with full_upstream_rejection: the mode is explicit Full'
      : 'classes a provider’s refusal on the row alone: the mode is not explicit Full';
  },
  'effort-policy': effort,
  'output-tokens': ({ key }) => {
    if (!key) return undefined;
    return key.output_tokens ? `caps output at ${key.output_tokens.max} tokens` : `rests: key ${key.id} has no output-token policy`;
  },
  eligibility: ({ live }) => live && (live.mode ? 'lets it by: a source is routable' : 'refuses: 503 no_eligible_account'),
  'model-mapping': (facts) => perAccount(facts, ({ models }, model) => (Object.hasOwn(models, model) ? models[model] : undefined)),
  'drop-fields': (facts) => perAccount(facts, ({ drop_fields }) => drop_fields.join(', ') || undefined),
};

export function doingsOf(facts: Facts): Readonly<Record<string, string>> {
  const said = Object.entries(SAYS).map(([rule, says]) => [rule, says(facts)] as const);
  return Object.fromEntries(said.filter((one): one is readonly [string, string] => one[1] !== undefined));
}

function effort({ key, live }: Facts): string | undefined {
  if (!key) return undefined;
  const policy = key.reasoning_effort;
  if (!policy) return `rests: key ${key.id} has no effort policy`;
  if ('always' in policy) return `sets the effort to ${policy.always}`;
  if (!live?.entry) return `permits efforts up to ${policy.allow_up_to}`;
  const permitted = permittedEfforts(policy, live.entry) ?? [];
  if (permitted.length === 0) return `permits no effort of this model up to ${policy.allow_up_to}`;
  return `permits ${permitted.join(', ')}; an omitted effort becomes ${omittedEffort(policy, live.entry)}`;
}

function perAccount(
  { config, pool, model }: Facts,
  of: (account: Facts['config']['accounts'][number], model: string) => string | undefined,
): string | undefined {
  if (model === undefined) return undefined;
  const said = pool.assignments.flatMap(({ account: id }) => {
    const account = config.accounts.find((one) => one.id === id);
    const text = account && of(account, model);
    return text === undefined ? [] : [`${id}: ${text}`];
  });
  return said.length === 0 ? 'rests: no account of the Pool asks for it' : said.join('; ');
}
