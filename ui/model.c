/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <stdlib.h>
#include <string.h>

void model_release(struct model *model)
{
	free(model->functions);
	free(model->tree);
	text_release(&model->name);
}

int model_refresh(struct model *model, uint64_t now_ns)
{
	model->now_ns = now_ns;
	if (!model->history) {
		model->generation++;
		return 0;
	}
	int result = history_update_names(model->history);
	if (result || model->paused)
		return result;
	model->totals = history_totals(model->history);
	model->generation++;
	return 0;
}

void model_pause(struct model *model, bool paused)
{
	model->paused = paused;
	model->paused_ns = model->now_ns;
	model->samples_at_pause = model->totals.samples;
}

int model_functions(struct model *model)
{
	if (model->functions_generation == model->generation)
		return 0;
	free(model->functions);
	model->functions = NULL;
	model->nr_functions = 0;
	int result = history_top(model->history, &model->functions, &model->nr_functions);
	if (!result)
		model->functions_generation = model->generation;
	return result;
}

int model_tree(struct model *model)
{
	if (model->tree_generation == model->generation)
		return 0;
	free(model->tree);
	model->tree = NULL;
	model->nr_tree = 0;
	int result = history_tree(model->history, &model->tree, &model->nr_tree);
	if (!result)
		model->tree_generation = model->generation;
	return result;
}

const char *model_full_name(struct model *model, struct function_id function)
{
	text_clear(&model->name);
	if (history_function_kernel(model->history, function))
		text_add(&model->name, "[k] ");
	text_add_safe(&model->name, history_function_name(model->history, function));
	return text_string(&model->name);
}

const char *model_name(struct model *model, struct function_id function)
{
	return model_full_name(model, function);
}

const char *model_module(struct model *model, struct function_id function)
{
	const char *path = history_function_module(model->history, function);
	const char *slash = strrchr(path, '/');
	text_clear(&model->name);
	text_add_safe(&model->name, slash && slash[1] ? slash + 1 : path);
	return text_string(&model->name);
}

const char *model_window_name(struct model *model)
{
	(void)model;
	return "all";
}

double model_percent(const struct model *model, uint64_t samples)
{
	uint64_t whole = model->totals.samples;
	return whole ? 100.0 * (double)samples / (double)whole : 0.0;
}

enum role model_percent_role(double percent)
{
	return percent >= 10 ? ROLE_HOT : percent >= 2 ? ROLE_WARM : ROLE_TEXT;
}
