// Schemas over the wire: they are lowered if they are not strict, repaired if their structure is unambiguous, and refused if their root is
// not an object.
import { LOWERED_TOOLS } from '../../rules/tools/lowering.cases.ts';
import { LOOSE_PARAMETERS, STRICT_FORMATS, STRICT_PARAMETERS, STRICT_REPAIR, TYPE_VALUES } from '../../rules/tools/strict.cases.ts';
import { fromTools } from '../../support/wire/case.ts';
import { testTable } from '../../support/wire/table.ts';

testTable('[F5.1] loose function schemas are lowered, strict ones are left', fromTools(LOWERED_TOOLS));
testTable('[F5.7] strict structured output has a direct object root', fromTools(STRICT_FORMATS));
testTable('[F5.7] strict parameters have a direct object root', fromTools(STRICT_PARAMETERS));
testTable('[F5.7] a root that is not strict is left alone', fromTools(LOOSE_PARAMETERS));
testTable('[F5.6] bad type values of strict parameters are refused', fromTools(TYPE_VALUES));
testTable('[F5.6] a missing nested type is filled only where the structure is unambiguous', fromTools(STRICT_REPAIR));
