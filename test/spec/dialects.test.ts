// The two dialects over the wire: what Lite makes of a body, that Full makes nothing of it, and the marker.
import { LIFT } from '../rules/dialect/lift.cases.ts';
import { FULL_PASS, IMAGE_DETAIL, LITE_REWRITE } from '../rules/dialect/lite.cases.ts';
import { BACKEND_SHAPE, SHAPES, TOOL_CHOICE } from '../rules/dialect/shape.cases.ts';
import { fromRules } from '../support/wire/case.ts';
import { playTable } from '../support/wire/play.ts';

playTable('[F1.1] texts of system and developer messages become instructions in Full', fromRules(LIFT));
playTable('[F1.4] every dispatch bears reasoning and its include entry', fromRules(BACKEND_SHAPE));
playTable('[F1.4] members that a dialect edits have the shape that it edits', fromRules(SHAPES));
playTable('[F2.5] Lite carries tools and instructions inside input', fromRules(LITE_REWRITE));
playTable('[F2.9] Lite drops the detail of images', fromRules(IMAGE_DETAIL));
playTable('[F2.11] Full forwards as sent', fromRules(FULL_PASS));
playTable('[F2.12] a map-shaped tool_choice is refused where the model is served Lite', fromRules(TOOL_CHOICE));
