// What the JavaScript clients make of a stream: a line {sdk, baseURL, tools} in, a line with the folded answer out.
//
//   {"text", "reasoning", "calls": [[id, name, value]], "stop", "usage": [input, output], "seals", "error"}
//
// Rule of this file: it only runs the SDKs and renames their fields; what is right is told in the Python beside it.

import { createInterface } from "node:readline";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { jsonSchema, streamText, tool } from "ai";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

console.log = console.info = console.warn = () => {}; // stdout is ours: an SDK warns there
const apiKey = "none";
const model = "m";
const messages = [{ role: "user", content: "x" }];
const object = { type: "object", additionalProperties: true };
const of = (parts, type) => parts.filter((part) => part.type === type);
const join = (parts, type, member) => of(parts, type).map((part) => part[member]).join("");

async function anthropic({ baseURL }) {
  const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 });
  const { content, stop_reason, usage } = await client.messages.stream({ model, max_tokens: 100, messages }).finalMessage();
  return {
    text: join(content, "text", "text"),
    reasoning: join(content, "thinking", "thinking"),
    seals: content.filter((part) => /thinking/.test(part.type)).map((part) => part.signature ?? part.data),
    calls: of(content, "tool_use").map((part) => [part.id, part.name, part.input]),
    stop: stop_reason,
    usage: [usage.input_tokens, usage.output_tokens],
  };
}

async function chat({ baseURL }) {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const { choices, usage } = await client.chat.completions.stream({ model, messages }).finalChatCompletion();
  const { message, finish_reason } = choices[0];
  return {
    text: message.content ?? "",
    calls: (message.tool_calls ?? []).map((call) => [call.id, call.function.name, JSON.parse(call.function.arguments)]),
    stop: finish_reason,
    usage: [usage?.prompt_tokens, usage?.completion_tokens],
  };
}

async function responses({ baseURL }) {
  const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
  const { output, status, usage, error } = await client.responses.stream({ model, input: "x" }).finalResponse();
  if (error) throw new Error(error.message);
  const parts = of(output, "message").flatMap((item) => item.content);
  const reasoning = of(output, "reasoning");
  return {
    text: join(parts, "output_text", "text"),
    refusal: join(parts, "refusal", "refusal"),
    reasoning: reasoning.flatMap((item) => item.summary.map((part) => part.text)).join(""),
    seals: reasoning.map((item) => item.encrypted_content ?? ""),
    calls: output
      .filter((item) => item.call_id)
      .map((item) => [item.call_id, item.name, item.type === "custom_tool_call" ? item.input : JSON.parse(item.arguments)]),
    stop: status,
    usage: [usage?.input_tokens, usage?.output_tokens],
  };
}

const vercel = (languageModel) => async ({ baseURL, tools }) => {
  const offered = Object.fromEntries(tools.map((name) => [name, tool({ inputSchema: jsonSchema(object) })]));
  const result = streamText({ model: languageModel(baseURL), messages, tools: offered, maxRetries: 0, onError() {} });
  const parts = [];
  for await (const part of result.fullStream) parts.push(part);
  const wrong = of(parts, "error")[0]?.error ?? of(parts, "tool-call").find((part) => part.invalid)?.error;
  if (wrong) throw wrong;
  const finish = of(parts, "finish")[0];
  return {
    text: join(parts, "text-delta", "text"),
    reasoning: join(parts, "reasoning-delta", "text"),
    calls: of(parts, "tool-call").map((part) => [part.toolCallId, part.toolName, part.input]),
    stop: finish.finishReason,
    usage: [finish.totalUsage.inputTokens, finish.totalUsage.outputTokens],
  };
};

const sdks = {
  anthropic,
  chat,
  responses,
  "ai-anthropic": vercel((baseURL) => createAnthropic({ baseURL: `${baseURL}/v1`, apiKey })(model)),
  "ai-chat": vercel((baseURL) => createOpenAI({ baseURL, apiKey }).chat(model)),
  "ai-responses": vercel((baseURL) => createOpenAI({ baseURL, apiKey }).responses(model)),
  "ai-compatible": vercel((baseURL) => createOpenAICompatible({ baseURL, name: "x", includeUsage: true })(model)),
};

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let answer;
  try {
    answer = await sdks[asked.sdk](asked);
  } catch (error) {
    answer = { error: `${error?.name ?? "Error"}: ${error?.message ?? JSON.stringify(error)}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
