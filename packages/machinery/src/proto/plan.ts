import type { Field, ObjectType } from '../schema/type.ts';

/** A type's fields by protobuf number. An embedded message is a nested plan, whose fields belong to the same JSON object. */
export type Plan = Map<number, Field | Plan>;

const plans = new WeakMap<ObjectType, Plan>();

export function planOf(type: ObjectType): Plan {
  let plan = plans.get(type);
  if (plan === undefined) plans.set(type, (plan = makePlan(type)));
  return plan;
}

function makePlan(type: ObjectType): Plan {
  const root: Plan = new Map();
  for (const field of type.fields.values()) {
    if (field.proto === undefined) continue;
    let plan = root;
    for (const number of field.proto.inline ?? []) {
      let inner = plan.get(number);
      if (!(inner instanceof Map)) plan.set(number, (inner = new Map()));
      plan = inner;
    }
    plan.set(field.proto.number, field);
  }
  return root;
}
