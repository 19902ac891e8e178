/** What the tasks of one server share. */
import type { Tool } from '../ai-tools/index.ts';
import type { AiSettings } from './model/ai-settings.ts';
import type { Model } from './model/model.ts';
import { createModelClient } from './model/model-client.ts';
import { ruleBasedModel } from './model/rule-based.ts';
import { createTools, type Tools } from './model/tool-set.ts';
import { createLiveTexts, type LiveTexts } from './store/live-text.ts';

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
