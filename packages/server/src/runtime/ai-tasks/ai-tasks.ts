/** What the tasks of one server share. */
import type { Tool } from '../ai-tools/index.ts';
import type { AiSettings } from './ai-settings.ts';
import { createLiveTexts, type LiveTexts } from './live-text.ts';
import type { Model } from './model.ts';
import { createModelClient } from './model-client.ts';
import { ruleBasedModel } from './rule-based.ts';
import { createTools, type Tools } from './tool-set.ts';

export interface AiTasks {
  settings: AiSettings;
  tools: Tools;
  model: Model;
  live: LiveTexts;
}

export function createAiTasks(settings: AiSettings, tools: readonly Tool[]): AiTasks {
  return {
    settings,
    tools: createTools(tools),
    model: settings.model === undefined ? ruleBasedModel : createModelClient(settings.model),
    live: createLiveTexts(),
  };
}
