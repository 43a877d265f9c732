// A gateway whose admin listener is not only on loopback, so that the console asks for the token of an operator, and the sign-in.
import { type Draft, startGateway, type TestGateway } from '../support/gateway.ts';
import { tokenOf, withOperator } from '../support/mcp.ts';
import type { BrowserPage } from './browser-page.ts';

/** @param config further edits of the configuration, whose operator `ops` owns the Pool */
export const startWithSignIn = (config: (draft: Draft) => void = () => undefined): Promise<TestGateway> =>
  startGateway({
    config: (draft) => {
      draft.admin.host = '0.0.0.0';
      withOperator(draft);
      config(draft);
    },
  });

/** Signs in on the page that is open. Its field has the focus. */
export async function signIn(page: BrowserPage, operator: string): Promise<void> {
  await page.sees('Sign in to poolgate');
  await page.type(tokenOf(operator));
  await page.press('Enter');
  await page.sees(`Sign out ${operator}`);
  await page.sees('Live');
}
