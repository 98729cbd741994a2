/* SPDX-License-Identifier: MIT */
#ifndef CTOP_VIEWS_VIEWS_H
#define CTOP_VIEWS_VIEWS_H

/* All views there are. */

#include <ctop/screen/view.h>

/* Each NULL: out of memory. */
struct view *top_view_new(void);
struct view *tree_view_new(void);     /* VIEW_TREE */
struct view *callers_view_new(void);  /* VIEW_CALLERS */
struct view *sandwich_view_new(void); /* VIEW_SANDWICH, of the model's centre */
struct view *flame_view_new(void);
struct view *threads_view_new(void);
struct view *calls_view_new(void);
struct view *modules_view_new(void);
struct view *timeline_view_new(void);
struct view *code_view_new(void); /* of the model's function */
struct view *info_view_new(void);
struct view *picker_view_new(void);
struct view *refusal_view_new(void); /* of the model's refusal */
/* Of the function, beside a list of functions. */
/* Its name alone, until there is time for the rest. */
void detail_draw_name(struct model *model, struct cells *cells, struct area area,
		      struct function_id function);
void detail_draw(struct model *model, struct cells *cells, struct area area,
		 struct function_id function);

struct view *help_view_new(enum view_kind about);

#endif
