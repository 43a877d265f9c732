// /mcp needs the token of an operator (AU2 to AU4, Q25).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { bearerToken } from '../../proxy/turn/wire/bearer-token.ts';

const NO_TOKEN = new Refusal('invalid_api_key', { message: 'A valid MCP token of an operator is required as a Bearer token.' });

/** Accepts no other credential: no Pool API key, cookie, query or header of another name. GET and OPTIONS reveal nothing and need none. */
export const authenticateOperator = rule({
  name: 'authenticate-operator',
  routes: ['mcp'],
  admit(turn) {
    if (turn.route.method !== 'POST') return;
    const token = bearerToken(turn.headers);
    if (token === undefined || !turn.identifyOperator(token)) throw NO_TOKEN;
  },
});
