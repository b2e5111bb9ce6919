import { buildCapstan } from '@capstan/testbed';
import { describeUnless, skipReason } from '@capstan/testbed/vitest';
import { afterAll, beforeAll } from 'vitest';
import { testActions } from './actions.ts';
import { testContents } from './contents.ts';
import { testExample } from './example/screens.ts';
import { testExampleActions } from './example-actions.ts';
import { testExplorer } from './explorer.ts';
import { testKeyboard } from './keyboard.ts';
import { ConsolePlatform } from './platform.ts';
import { testScreens } from './screens.ts';
import { testStates } from './states.ts';
import { testTrouble } from './trouble.ts';

await buildCapstan();

describeUnless(await skipReason(['chromium']), 'the pages of the console', () => {
  let platform: ConsolePlatform;
  const running = (): ConsolePlatform => platform;

  beforeAll(async () => {
    platform = await ConsolePlatform.start();
    await platform.prepare();
  });
  afterAll(() => platform?.[Symbol.asyncDispose]());

  testScreens(running);
  testExample(running);
  testStates(running);
  testKeyboard(running);
  testContents(running);
  testExplorer(running);
  testTrouble(running);
  testActions(running);
  testExampleActions(running);
});
