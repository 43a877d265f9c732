// The rules of this room in the order that they need among themselves, for tests of several at once.
import { eligibility } from '../../../rules/access/eligibility.ts';
import { modelAccess } from '../../../rules/access/model-access.ts';
import { backendShape } from '../../../rules/dialect/backend-shape.ts';
import { dialectShape } from '../../../rules/dialect/dialect-shape.ts';
import { dropFields } from '../../../rules/dialect/drop-fields.ts';
import { liftInstructions } from '../../../rules/dialect/lift-instructions.ts';
import { liteMarker, markerHeader } from '../../../rules/dialect/lite-marker.ts';
import { liteRewrite } from '../../../rules/dialect/lite-rewrite.ts';
import { liteToolChoice } from '../../../rules/dialect/lite-tool-choice.ts';
import { modelMapping } from '../../../rules/dialect/model-mapping.ts';
import { servingMode } from '../../../rules/dialect/serving-mode.ts';
import { effortAlias } from '../../../rules/effort/effort-alias.ts';
import { effortPolicy } from '../../../rules/effort/effort-policy.ts';
import { outputTokens } from '../../../rules/effort/output-tokens.ts';
import type { Rule } from '../../../rules/rule.ts';

export const ORDER: readonly Rule[] = [
  markerHeader,
  modelAccess,
  servingMode,
  liteToolChoice,
  dialectShape,
  effortPolicy,
  outputTokens,
  effortAlias,
  eligibility,
  liftInstructions,
  backendShape,
  liteRewrite,
  modelMapping,
  dropFields,
  liteMarker,
];
