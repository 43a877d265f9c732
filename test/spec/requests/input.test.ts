// The forms of a request's input over the wire: lists, audio, the reasoning context, and what the surface does not take.
import { AUDIO, INPUT_LISTS, ITEM_REFERENCES, REASONING_CONTEXT, UNSUPPORTED_PARAMETERS } from '../../rules/input/input.cases.ts';
import { fromTools } from '../../support/wire/case.ts';
import { testTable } from '../../support/wire/table.ts';

testTable('[F1.6] input and tools are lists', fromTools(INPUT_LISTS));
testTable('[F1.2] audio is checked before anything is dispatched', fromTools(AUDIO));
testTable('[F1.7] reasoning.context is one of three words', fromTools(REASONING_CONTEXT));
testTable('[Q15] references to stored items are dropped or refused', fromTools(ITEM_REFERENCES));
testTable('[ER2] parameters whose meaning would be lost are refused', fromTools(UNSUPPORTED_PARAMETERS));
