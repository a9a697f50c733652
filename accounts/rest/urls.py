"""What accounts serve under /api/v1/."""

from django.urls import path

from accounts.rest.views import Me

urlpatterns = [path("me", Me.as_view())]
