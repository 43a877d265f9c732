// The shapes of a request's input over the wire: lists, audio, the reasoning context, and what the surface does not take.
import { AUDIO, INPUT_LISTS, REASONING_CONTEXT, UNSUPPORTED_PARAMETERS } from '../rules/input/input.cases.ts';
import { fromTools } from '../support/wire/case.ts';
import { playTable } from '../support/wire/play.ts';

playTable('[F1.6] input and tools are lists', fromTools(INPUT_LISTS));
playTable('[F1.2] audio is checked before anything is dispatched', fromTools(AUDIO));
playTable('[F1.7] reasoning.context is one of three words', fromTools(REASONING_CONTEXT));
playTable('[ER2] parameters whose meaning would be lost are refused', fromTools(UNSUPPORTED_PARAMETERS));
